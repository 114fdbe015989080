"""The image of `make image`, run like a container: with its own file system, processes and user, read-only and locked.

The tests unpack the image themselves, because container runtimes need control groups that build machines often lack.
`make test-image` runs them.
"""

import hashlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tarfile
import time

import pytest

HOUSE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(HOUSE / "Tests/Terminal"))

from ledgers import Server  # noqa: E402
from conftest import folder  # noqa: E402, F401

NUMBER = 10001
PATIENCE = 300
SLUICE = os.environ["SLUICE"]
FILE = pathlib.Path(os.environ["SLUICE_IMAGE"])


def blob(layout, described):
    content = (layout / "blobs" / described["digest"].replace(":", "/")).read_bytes()
    assert len(content) == described["size"]
    assert f"sha256:{hashlib.sha256(content).hexdigest()}" == described["digest"]
    return content


class Image:
    def __init__(self, folder):
        layout = folder / "layout"
        with tarfile.open(FILE) as tar:
            tar.extractall(layout)
        self.index = json.loads((layout / "index.json").read_text())
        self.manifest = json.loads(blob(layout, self.index["manifests"][0]))
        self.configuration = json.loads(blob(layout, self.manifest["config"]))
        self.root = folder / "root"
        self.root.mkdir()
        self.members = []
        for layer in self.manifest["layers"]:
            path = layout / "blobs" / layer["digest"].replace(":", "/")
            with tarfile.open(path) as tar:
                self.members += tar.getmembers()
            subprocess.run(["tar", "--extract", "--file", path, "--directory", self.root, "--no-same-owner"], check=True)

    def start(self, *words, mounts={}, **options):
        """Runs the image's program as process 1 of its own space, on a read-only root, as the image's user."""
        lines = [f"mount --bind {self.root} {self.root}", f"mount -t proc proc {self.root}/proc"]
        lines += [f"mount --bind {outside} {self.root}{inside}" for inside, outside in {"/dev": "/dev", **mounts}.items()]
        # Without another process between the space and the program.
        lines += [f"mount -o remount,bind,ro {self.root}", 'exec "$@"']
        return subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-ec", "\n".join(lines), "bash"]
            + ["chroot", f"--userspec={NUMBER}:{NUMBER}", self.root, "/usr/bin/sluice", *words],
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
            **options,
        )

    def run(self, *words, **options):
        child = self.start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        output, errors = child.communicate(timeout=PATIENCE)
        return child.returncode, output, errors


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder = tmp_path_factory.mktemp("image")
    for parent in [folder, *list(folder.parents)[:2]]:
        parent.chmod(0o755)
    made = Image(folder)
    # Mount points for volumes.
    for name in ["audio", "ledger"]:
        (made.root / name).mkdir()
    return made


@pytest.fixture
def audio(folder):  # noqa: F811
    """A folder like a volume: sources in `in`, and `out`, which the image's user may write."""
    sources = folder / "in"
    sources.mkdir()
    for file in folder.glob("*.wav"):
        file.rename(sources / file.name)
    for name in ["out", "."]:
        (folder / name).mkdir(exist_ok=True)
        os.chown(folder / name, NUMBER, NUMBER)
    for parent in list(folder.parents)[:2]:
        parent.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("postgres", numbered=True)
    server = Server(folder)
    folder.chmod(0o755)
    yield server
    server.stop()


# The image as it is


def test_size_is_bounded(image):
    assert FILE.stat().st_size < 100_000_000
    assert sum(member.size for member in image.members) < 150_000_000


def test_libraries_of_video_and_xml_are_hollow_and_their_packages_not_listed(image):
    sizes = {pathlib.Path(member.name).name: member.size for member in image.members if member.isreg()}
    for name in ["libcairo", "libjxl", "librsvg-2", "libSvtAv1Enc", "librav1e", "libxml2"]:
        [size] = [size for file, size in sizes.items() if file.startswith(f"{name}.so.")]
        assert size < 300_000, name
    listed = [pathlib.Path(member.name).name for member in image.members if "/status.d/" in member.name]
    assert not [name for name in listed if re.match(r"lib(cairo|jxl|rsvg|svtav1|rav1e|xml2|icu)", name)]


def test_nothing_in_it_can_change_its_user_or_be_run_but_the_programs(image):
    for member in image.members:
        assert not member.isdev() and not member.mode & 0o6000, member.name
        assert (member.uid, member.gid) == (0, 0), member.name
    programs = [
        member.name.removeprefix("./")
        for member in image.members
        if member.isreg() and member.mode & 0o111 and ".so" not in member.name
    ]
    assert sorted(programs) == ["usr/bin/sluice", "usr/libexec/sluice/sluice-room"]


def test_every_library_has_its_licence_and_its_package_is_listed(image):
    names = {member.name.removeprefix("./") for member in image.members}
    listed = [name.rsplit("/", 1)[1] for name in names if name.startswith("var/lib/dpkg/status.d/")]
    # Its name has a number, which differs between releases of Debian.
    assert any(re.fullmatch(r"libavcodec\d+", name) for name in listed)
    assert {"libpq5", "libseccomp2", "base-files", "libc6"} <= set(listed)
    for package in listed:
        folder = f"usr/share/doc/{package}"
        assert f"{folder}/copyright" in names or folder in names, package


def test_configuration_says_who_runs_what(image):
    configuration = image.configuration["config"]
    assert configuration["User"] == f"{NUMBER}:{NUMBER}"
    assert configuration["Entrypoint"] == ["/usr/bin/sluice"]
    assert configuration["StopSignal"] == "SIGTERM"


# The command in it


def test_command_has_all_libraries_and_codecs(image):
    status, output, errors = image.run("formats", "--json")
    assert status == 0, errors
    outside = subprocess.run(
        [SLUICE, "formats", "--json"], capture_output=True, text=True, check=True
    ).stdout
    assert output == outside


def test_doctor_finds_the_lock_complete(image):
    status, output, errors = image.run("doctor", "--database", "host=/nowhere", "--json")
    # There is no ledger.
    assert status == 1, errors
    findings = {each["subject"]: each for each in map(json.loads, output.splitlines())}
    outside = subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", SLUICE, "doctor"]
        + ["--database", "host=/nowhere", "--json"],
        capture_output=True,
        text=True,
    ).stdout
    theirs = {each["subject"]: each for each in map(json.loads, outside.splitlines())}
    assert findings["sandbox"] == theirs["sandbox"]
    assert findings["codecs"]["verdict"] == "ok"


@pytest.mark.parametrize("name", ["talk.flac", "talk.mp3", "talk.opus", "talk.m4a", "talk.ogg"])
def test_conversion(image, audio, name):
    status, output, errors = image.run(
        "convert", "/audio/in/talk.wav", f"/audio/out/{name}", "--verify", mounts={"/audio": audio}
    )
    assert status == 0, errors
    assert (audio / "out" / name).stat().st_uid == NUMBER


def test_sound_of_a_film_with_a_drawing(image, audio):
    # What the hollow libraries would write and read: video in AV1, and an attached drawing.
    (audio / "drawing.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>')
    subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=64x64:rate=5", "-i", audio / "in/talk.wav"]
        + ["-attach", audio / "drawing.svg", "-metadata:s:t", "mimetype=image/svg+xml", "-c:v", "libsvtav1", "-c:a", "flac"]
        + ["-shortest", audio / "in/film.mkv"],
        check=True,
        capture_output=True,
    )
    status, output, errors = image.run(
        "convert", "/audio/in/film.mkv", "/audio/out/film.flac", "--verify", mounts={"/audio": audio}
    )
    assert status == 0, errors


def children(process):
    """The processes below `process`, with their states."""
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == process:
            number = int(stat.parent.name)
            found += [(number, fields[0]), *children(number)]
    return found


def wait(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        # Nothing tells this process of changes in a ledger or in /proc.
        time.sleep(0.02)


class Service:
    """A worker as process 1."""

    def __init__(self, image, server, audio, *words):
        name = f"image_{os.urandom(6).hex()}"
        server.query(f"create database {name}")
        self.server, self.name = server, name
        self.socket = server.url.split("host=")[1]
        self.image = image
        self.sluice("migrate")
        self.log = audio / "worker.log"
        self.mounts = {"/audio": audio, "/ledger": self.socket}
        self.words = ["worker", "--root", "in=/audio/in:ro", "--root", "out=/audio/out", *words]

    def sluice(self, *words):
        return subprocess.run(
            [SLUICE, *words],
            env={"SLUICE_DATABASE_URL": self.server.url.format(self.name), "HOME": "/dev/null/none"},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def start(self):
        address = f"postgresql://postgres@/{self.name}?host=/ledger"
        with open(self.log, "wb") as log:
            return self.image.start(
                *self.words, "--database", address, mounts=self.mounts, stdout=log, stderr=subprocess.STDOUT
            )

    def lines(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def count(self, state):
        return int(self.server.query(f"select coalesce(sum(jobs), 0) from sluice.counts() where state = '{state}'", self.name))


def test_worker_as_process_1_drains_and_leaves_nothing(image, server, audio):
    service = Service(image, server, audio, "--slots", "2")
    source = audio / "in/talk.wav"
    for number in range(40):
        (audio / f"in/{number}.wav").write_bytes(source.read_bytes())
    service.sluice(
        "submit", "-r", str(audio / "in"), "--root", f"in={audio}/in", "--root", f"out={audio}/out",
        "--to", f"{audio}/out/{{stem}}.flac",
    )
    outer = service.start()
    wait(lambda: service.count("completed") >= 10, service.log.read_text())
    [inner] = [number for number, _ in children(outer.pid)][:1]
    below = children(inner)
    # Two rooms and two fork servers at most, and none that ended and was not reaped.
    assert below and all(state != "Z" for _, state in below), below
    os.kill(inner, signal.SIGTERM)
    assert outer.wait(PATIENCE) == 0, service.log.read_text()
    events = [line["event"] for line in service.lines()]
    assert "draining" in events and events[-1] == "stopped"
    assert service.count("running") == service.count("publishing") == service.count("failed") == 0
    assert [number for number, _ in below if pathlib.Path(f"/proc/{number}").exists()] == []
    assert service.sluice("errors", "--json") == ""


def test_worker_until_idle_ends_with_0(image, server, audio):
    service = Service(image, server, audio, "--slots", "1", "--until-idle")
    service.sluice(
        "submit", "-r", str(audio / "in"), "--root", f"in={audio}/in", "--root", f"out={audio}/out",
        "--to", f"{audio}/out/{{stem}}.flac",
    )
    assert service.start().wait(PATIENCE) == 0, service.log.read_text()
    assert service.count("completed") == 3
    assert service.lines()[-1]["event"] == "stopped"
