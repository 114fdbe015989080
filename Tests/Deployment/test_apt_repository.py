"""Repositories of scripts/make-apt-repository, which the real apt reads over HTTP."""

import contextlib
import functools
import http.server
import os
import pathlib
import random
import shutil
import threading

import pytest
from programs import run, succeed

HOUSE = pathlib.Path(__file__).resolve().parents[2]
EPOCH = 1_700_000_000
FOLDERS = ["bookworm", "trixie"]


def make_package(folder, name, version, architecture, content="x", fields=""):
    tree = folder / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "usr").mkdir()
    (tree / "usr/file").write_text(content)
    (tree / "DEBIAN/control").write_text(
        f"Package: {name}\nVersion: {version}\nArchitecture: {architecture}\n"
        f"Maintainer: A <a@localhost>\n{fields}Description: a test\n"
    )
    succeed("dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, folder, env={**os.environ, "SOURCE_DATE_EPOCH": "1"})
    shutil.rmtree(tree)


@pytest.fixture(scope="session")
def architecture():
    return succeed("dpkg", "--print-architecture").stdout.strip()


@pytest.fixture(scope="session")
def packages(tmp_path_factory, architecture):
    """As a release has them: with other files beside, and the same names for other bytes."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "NOTES.md").write_text("notes")
    for debian in FOLDERS:
        (folder / debian).mkdir()
        (folder / debian / "sluice.cdx.json").write_text("{}")
        for version in ["0.1.0", "0.2.0"]:
            make_package(folder / debian, "sluice", version, architecture, debian, f"Depends: lib-{debian}\n")
        make_package(folder / debian, f"lib-{debian}", "1", "all")
        make_package(folder / debian, "sluice-common", "0.2.0", "all")
    return folder


class Keys:
    """A folder of gpg with one new key, which is as old as its maker says."""

    def __init__(self, folder, time):
        folder.mkdir(mode=0o700)
        self.environment = {**os.environ, "GNUPGHOME": str(folder), "SOURCE_DATE_EPOCH": str(EPOCH)}
        words = ["--batch", "--passphrase", "", "--faked-system-time", str(time)]
        succeed("gpg", *words, "--quick-generate-key", "Test <a@localhost>", "ed25519", "sign", "never", env=self.environment)
        listed = succeed("gpg", "--batch", "--with-colons", "--list-keys", env=self.environment).stdout
        self.fingerprint = next(line.split(":")[9] for line in listed.splitlines() if line.startswith("fpr:"))

    def end(self):
        run("gpgconf", "--kill", "all", env=self.environment)

    def make(self, packages, folder, key=None):
        words = [HOUSE / "scripts/make-apt-repository", packages, folder, "--key", key or self.fingerprint]
        return run(*words, env=self.environment)


@pytest.fixture(scope="session")
def keys():
    # The path of the socket of gpg's agent must be short, so these folders are not below those of the tests.
    folder = pathlib.Path(succeed("mktemp", "--directory").stdout.strip())
    made = {"old": Keys(folder / "old", EPOCH - 1000), "young": Keys(folder / "young", EPOCH + 1000)}
    yield made
    for each in made.values():
        each.end()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def made(packages, keys, tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "repository"
    done = keys["old"].make(packages, folder)
    assert done.returncode == 0, done.both
    return folder


@pytest.fixture
def repository(made, tmp_path):
    """A copy that the test may change."""
    return shutil.copytree(made, tmp_path / "repository")


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@contextlib.contextmanager
def served(folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=folder))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Apt:
    """A machine's apt with folders that belong to the test, whose only source is that of deploy/apt/sluice.sources."""

    def __init__(self, folder, url, key, debian="bookworm"):
        self.folder = folder
        settings = [f"etc/apt/{name}.d" for name in ["sources.list", "apt.conf", "preferences"]]
        for name in [*settings, "state/lists/partial", "cache/archives/partial", "down"]:
            (folder / name).mkdir(parents=True)
        (folder / "status").write_text("")
        source = (HOUSE / "deploy/apt/sluice.sources").read_text()
        assert "https://packages.example.org/sluice" in source and "/etc/apt/keyrings/sluice.asc" in source
        shutil.copy(key, folder / "sluice.asc")
        source = source.replace("https://packages.example.org/sluice", url).replace("Suites: bookworm", f"Suites: {debian}")
        source = source.replace("/etc/apt/keyrings/sluice.asc", str(folder / "sluice.asc"))
        (folder / "etc/apt/sources.list.d/sluice.sources").write_text(source)
        (folder / "apt.conf").write_text(
            f'Dir::Etc "{folder}/etc/apt";\nDir::State "{folder}/state";\nDir::State::status "{folder}/status";\n'
            f'Dir::Cache "{folder}/cache";\nAPT::Sandbox::User "";\nAcquire::http::Proxy "DIRECT";\nAcquire::Languages "none";\n'
            'Dir::Etc::Trusted "/dev/null";\nDir::Etc::TrustedParts "/dev/null";\n'
        )

    def get(self, *words):
        environment = {**os.environ, "APT_CONFIG": str(self.folder / "apt.conf"), "LC_ALL": "C"}
        return run("apt-get", "--quiet", *words, cwd=self.folder / "down", env=environment)

    def update(self):
        """Whether the lists are new and signed by the key. A warning of apt is a failure here."""
        return self.get("update", "-o", "APT::Update::Error-Mode=any")


@pytest.fixture
def key(made):
    return made / "sluice.asc"


@pytest.mark.parametrize("debian", FOLDERS)
def test_apt_verifies_and_fetches(repository, key, tmp_path, debian, packages, architecture):
    with served(repository) as url:
        apt = Apt(tmp_path / "apt", url, key, debian)
        done = apt.update()
        assert done.returncode == 0 and "W:" not in done.both, done.both
        done = apt.get("download", "sluice", "sluice-common")
        assert done.returncode == 0, done.both
        older = apt.get("download", "sluice=0.1.0")
        assert older.returncode == 0, older.both
    down = {file.name: file.read_bytes() for file in (tmp_path / "apt/down").iterdir()}
    names = [f"sluice_0.1.0_{architecture}.deb", f"sluice_0.2.0_{architecture}.deb", "sluice-common_0.2.0_all.deb"]
    assert down == {name: (packages / debian / name).read_bytes() for name in names}


def test_an_upgrade_of_debian_takes_the_package_for_it(repository, key, tmp_path, architecture):
    """Both have the same version."""
    with served(repository) as url:
        apt = Apt(tmp_path / "apt", url, key, "trixie")
        (apt.folder / "status").write_text(
            f"Package: sluice\nStatus: install ok installed\nVersion: 0.2.0\nArchitecture: {architecture}\n"
            "Maintainer: A <a@localhost>\nDepends: lib-bookworm\nDescription: a test\n\n"
            "Package: lib-bookworm\nStatus: install ok installed\nVersion: 1\nArchitecture: all\n"
            "Maintainer: A <a@localhost>\nDescription: a test\n"
        )
        assert apt.update().returncode == 0
        done = apt.get("--simulate", "dist-upgrade")
    assert "Inst sluice [0.2.0] (0.2.0 Sluice:trixie" in done.stdout and "Inst lib-trixie" in done.stdout, done.both


def test_the_page_shows_the_source():
    lines = (HOUSE / "deploy/apt/sluice.sources").read_text().splitlines(keepends=True)
    fields = "".join(line for line in lines if not line.startswith("#"))
    assert f"```text\n{fields}```\n" in (HOUSE / "docs/install.md").read_text()


def test_apt_refuses_a_changed_package(repository, key, tmp_path):
    for file in repository.glob("pool/bookworm/sluice_0.2.0_*.deb"):
        content = bytearray(file.read_bytes())
        content[-1] ^= 1
        file.write_bytes(content)
    with served(repository) as url:
        apt = Apt(tmp_path / "apt", url, key)
        assert apt.update().returncode == 0
        done = apt.get("download", "sluice")
    assert done.returncode != 0 and "Hash Sum mismatch" in done.both, done.both
    assert not list((tmp_path / "apt/down").glob("*.deb"))


def test_apt_refuses_a_changed_list(repository, key, tmp_path):
    """Of the same length, as an attacker would make it."""
    for name in ["Packages", "Packages.gz"]:
        for file in repository.glob(f"dists/bookworm/main/*/{name}"):
            content = bytearray(file.read_bytes())
            content[-1] ^= 1
            file.write_bytes(content)
    with served(repository) as url:
        done = Apt(tmp_path / "apt", url, key).update()
    assert done.returncode != 0 and "Hash Sum mismatch" in done.both, done.both


def test_apt_refuses_a_release_without_a_signature(repository, key, tmp_path):
    (repository / "dists/bookworm/InRelease").unlink()
    with served(repository) as url:
        done = Apt(tmp_path / "apt", url, key).update()
    assert done.returncode != 0 and "is not signed" in done.both, done.both


def test_apt_refuses_a_changed_release(repository, key, tmp_path):
    file = repository / "dists/bookworm/InRelease"
    file.write_text(file.read_text().replace("Origin: Sluice", "Origin: Slujce"))
    with served(repository) as url:
        done = Apt(tmp_path / "apt", url, key).update()
    assert done.returncode != 0 and "is not signed" in done.both, done.both


def test_apt_refuses_another_key(packages, keys, key, tmp_path):
    done = keys["young"].make(packages, tmp_path / "repository")
    assert done.returncode == 0, done.both
    with served(tmp_path / "repository") as url:
        refused = Apt(tmp_path / "apt", url, key).update()
        accepted = Apt(tmp_path / "own", url, tmp_path / "repository/sluice.asc").update()
    assert refused.returncode != 0 and "is not signed" in refused.both, refused.both
    # Its signature is as old as the key: apt does not accept a signature from before it.
    assert accepted.returncode == 0, accepted.both


def content(folder):
    return {
        str(file.relative_to(folder)): (file.stat().st_mode, file.stat().st_mtime, file.is_file() and file.read_bytes())
        for file in folder.rglob("*")
    }


def test_the_same_packages_give_the_same_bytes(packages, keys, made, tmp_path):
    """Whatever the order and the times of their files, the umask, the language and the time zone."""
    other = tmp_path / "other packages"
    files = [file for file in packages.rglob("*") if file.is_file()]
    random.Random(7).shuffle(files)
    for file in files:
        copy = other / file.relative_to(packages)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    environment = {**keys["old"].environment, "TZ": "Asia/Kolkata", "LC_ALL": "C.UTF-8"}
    script = HOUSE / "scripts/make-apt-repository"
    words = ["sh", "-c", 'umask 077; exec "$0" "$@"', script, other, tmp_path / "again", "--key", keys["old"].fingerprint]
    succeed(*words, env=environment)
    first, second = content(made), content(tmp_path / "again")
    assert first == second
    assert "pool/trixie/sluice-common_0.2.0_all.deb" in first and "dists/trixie/InRelease" in first
    assert not [name for name in first if name.endswith(".json") or "NOTES" in name]
    release = (made / "dists/bookworm/Release").read_text()
    assert "Date: Tue, 14 Nov 2023 22:13:20 +0000\n" in release and "Codename: bookworm\n" in release


def test_what_cannot_be_made_leaves_no_folder(packages, keys, made, tmp_path):
    old = keys["old"]
    (tmp_path / "empty").mkdir()
    cases = [
        (old.make(packages, tmp_path / "out", key="missing@localhost"), "no secret key"),
        (old.make(tmp_path / "none", tmp_path / "out"), "there is no folder"),
        (old.make(packages, made), "is not empty"),
        (old.make(tmp_path / "empty", tmp_path / "out"), "no folder with .deb files"),
    ]
    for done, words in cases:
        assert done.returncode == 1 and words in done.stderr, done.both
    assert not (tmp_path / "out").exists()
