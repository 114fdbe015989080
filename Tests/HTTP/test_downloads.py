"""Outputs that programs get: only what a job has published, and any range of its bytes."""

import base64
import concurrent.futures
import contextlib
import hashlib
import os
import re
import signal
import struct
import threading
import time
import urllib.parse
import wave

import pytest

from coordinators import Coordinator, CoordinatorProcess
from terminal import PATIENCE
from test_access import token
from test_operations import problem
from test_uploads import answers

NAME = 'Größe "5".flac'


class Made:
    """A coordinator that serves the outputs of two completed jobs."""

    def __init__(self, api, ledger):
        (self.api, self.ledger) = (api, ledger)
        self.file = ledger.folder / "out" / NAME
        self.content = self.file.read_bytes()
        self.path = "/api/v1/jobs/1/outputs/1"

    def get(self, method="GET", path=None, **fields):
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        return self.api.ask(method, path or self.path, headers=headers)


def convert(ledger, api, names, recipes=()):
    """Converts a second of noise to each of the names, and as the recipes say."""
    with wave.open(str(ledger.folder / "in/talk.wav"), "wb") as file:
        file.setparams((1, 2, 48_000, 0, "NONE", ""))
        file.writeframes(os.urandom(200_000))
    worker = ledger.start(
        "worker", "--root", f"in={ledger.folder}/in", "--root", f"out={ledger.folder}/out", "--slots", "1"
    )
    try:
        jobs = [{"source": "in:talk.wav", "output": f"out:{name}"} for name in names]
        jobs += [{"recipe": {"sources": [{"location": "in:talk.wav"}], **recipe}} for recipe in recipes]
        batch = api.post("/api/v1/batches", {"jobs": jobs}).json()
        ledger.run("wait", str(batch["batch"]), "--timeout", f"{PATIENCE}s")
        return batch["firstJob"]
    finally:
        worker.terminate()
        assert worker.wait(PATIENCE) == 0


def folders(ledger):
    for name in ["in", "out"]:
        (ledger.folder / name).mkdir()
    return ["--root", f"out={ledger.folder}/out", "--downloads", "out"]


@pytest.fixture(scope="module")
def made(server, tmp_path_factory):
    ledger = server.empty_ledger(tmp_path_factory.mktemp("made"))
    with Coordinator(ledger, "--open-role", "submitter", *folders(ledger)) as api:
        assert convert(ledger, api, [NAME, "deep/b.mp3"]) == 1
        yield Made(api, ledger)


def test_serves_an_output(made):
    answer = made.get()
    digest = hashlib.sha256(made.content)
    assert (answer.status_code, answer.content) == (200, made.content)
    assert answer.headers["content-type"] == "audio/flac"
    assert answer.headers["content-length"] == str(len(made.content))
    assert answer.headers["etag"] == f'"{digest.hexdigest()}"'
    assert answer.headers["repr-digest"] == f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["accept-ranges"] == "bytes"
    assert answer.headers["content-disposition"] == f"attachment; filename*=UTF-8''{urllib.parse.quote(NAME)}"
    head = made.get("HEAD")
    assert (head.status_code, head.content) == (200, b"")
    assert {**head.headers, "date": ""} == {**answer.headers, "date": ""}
    assert made.get(path="/api/v1/jobs/2/outputs/1").headers["content-type"] == "audio/mpeg"
    for path in ["/api/v1/jobs/1/outputs/2", "/api/v1/jobs/3/outputs/1", "/api/v1/jobs/1/outputs/0"]:
        problem(made.get(path=path), 404, "no_such_thing")


def test_serves_it_to_a_browser(made):
    """As a file, and never as a page that could use the session of its reader."""
    page = made.api.client.get("/jobs/1").text
    assert 'href="/jobs/1/outputs/1" download' in page and '<audio controls preload="none" src="/jobs/1/outputs/1"' in page
    answer = made.api.client.get("/jobs/1/outputs/1")
    assert (answer.status_code, answer.content) == (200, made.content)
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    part = made.api.client.get("/jobs/1/outputs/1", headers={"range": "bytes=1-3"})
    assert (part.status_code, part.content) == (206, made.content[1:4])
    for path in ["/jobs/1/outputs/2", "/jobs/1/outputs/x", "/jobs/9/outputs/1", "/jobs/x/outputs/1"]:
        refused = made.api.client.get(path)
        assert refused.status_code == 404 and "no_such_thing" in refused.text, path
        assert refused.headers["content-type"] == "text/html; charset=utf-8"


def test_serves_waveforms(server, tmp_path):
    ledger = server.empty_ledger(tmp_path)
    outputs = [{"location": "out:a.flac"}] + [
        {"location": f"out:a.{kind}", "waveform": {}} for kind in ["dat", "json", "svg", "png"]
    ]
    with Coordinator(ledger, "--open-role", "submitter", *folders(ledger)) as api:
        job = convert(ledger, api, [], [{"version": 4, "outputs": outputs}])
        kinds = ["audio/flac", "application/octet-stream", "application/json", "image/svg+xml", "image/png"]
        for number, kind in enumerate(kinds, start=1):
            answer = api.ask("GET", f"/api/v1/jobs/{job}/outputs/{number}")
            assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
        # 100,000 frames of 8 bits, 256 for each pair.
        data = api.ask("GET", f"/api/v1/jobs/{job}/outputs/2").content
        assert struct.unpack("<6I", data[:24]) == (2, 1, 48_000, 256, 391, 1) and len(data) == 24 + 2 * 391
        assert api.ask("GET", f"/api/v1/jobs/{job}/outputs/3").json()["length"] == 391
        further = api.get(f"/api/v1/jobs/{job}")["furtherOutputs"]
        assert [one["bytes"] > 0 for one in further] == [True] * 4


def test_serves_ranges(made):
    content, length = made.content, len(made.content)
    parts = {
        "bytes=0-0": (0, 1), "bytes=0-": (0, length), "bytes=5-9": (5, 10), "Bytes=5-9": (5, 10),
        f"bytes={length - 1}-": (length - 1, length), f"bytes=0-{length}": (0, length), "bytes=-1": (length - 1, length),
        f"bytes=-{length + 7}": (0, length), f"bytes=7-{2**70}": (7, length), f"bytes=-{2**70}": (0, length),
        "bytes=100000-150000": (100_000, 150_001), "bytes= 5-9": (5, 10),
    }
    for field, (first, end) in parts.items():
        answer = made.get(range=field)
        assert (answer.status_code, answer.content) == (206, content[first:end]), field
        assert answer.headers["content-range"] == f"bytes {first}-{end - 1}/{length}", field
        assert answer.headers["content-length"] == str(end - first), field
    for field in [f"bytes={length}-", f"bytes={length}-{length + 5}", "bytes=-0", f"bytes={2**70}-"]:
        answer = made.get(range=field)
        problem(answer, 416, "bad_range")
        assert answer.headers["content-range"] == f"bytes */{length}", field
    # What is no single range is left aside.
    for field in ["bytes=0-1,4-5", "bytes=5-4", "bytes=", "bytes=-", "bytes=a-b", "bytes=+1-2", "lines=1-2", "bytes 0-1",
                  "bytes=1--2", "bytes=0x1-2", "bytes=1 -2"]:
        answer = made.get(range=field)
        assert (answer.status_code, answer.content) == (200, content), field
    assert made.get("HEAD", range="bytes=0-1").status_code == 200


def test_serves_conditions(made):
    tag = made.get().headers["etag"]
    for same, status in [(tag, 206), ('"other"', 200), ("W/" + tag, 200), ("Thu, 26 Nov 2026 00:00:00 GMT", 200)]:
        assert made.get(range="bytes=0-1", if_range=same).status_code == status, same
    for known in [tag, f'"x", {tag}', "W/" + tag, "*"]:
        answer = made.get(if_none_match=known, range="bytes=0-1")
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)
    assert made.get(if_none_match='"x"').status_code == 200
    assert made.get(if_match=tag).status_code == 200
    problem(made.get(if_match='"x"'), 412, "other_version")


def test_serves_nothing_that_the_job_has_not_published(made):
    """Whatever happens to the file, its bytes are those of the job or none."""
    changes = {
        "other bytes": lambda: made.file.write_bytes(bytes(len(made.content))),
        "one other byte": lambda: made.file.write_bytes(made.content[:-1] + bytes([made.content[-1] ^ 1])),
        "shorter": lambda: made.file.write_bytes(made.content[:-1]),
        "longer": lambda: made.file.write_bytes(made.content + b"x"),
    }
    for name, change in changes.items():
        change()
        for method in ["GET", "HEAD"]:
            assert made.get(method).status_code == 409, name
        problem(made.get(range="bytes=0-1"), 409, "output_changed")
    made.file.unlink()
    problem(made.get(), 410, "output_gone")
    os.mkfifo(made.file)
    problem(made.get(), 410, "output_gone")
    made.file.unlink()
    (made.ledger.folder / "secret").write_bytes(made.content)
    made.file.symlink_to("../secret")
    problem(made.get(), 410, "output_gone")
    made.file.unlink()
    made.file.mkdir()
    problem(made.get(), 410, "output_gone")
    made.file.rmdir()
    # A copy from a backup has the right bytes, and no mark.
    made.file.write_bytes(made.content)
    assert made.get().content == made.content


def test_a_replacement_in_the_middle_does_not_reach_the_client(made):
    with made.api.connect() as connection:
        connection.sendall(f"GET {made.path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        first = connection.recv(100)
        other = made.file.with_name("other")
        other.write_bytes(bytes(len(made.content)))
        other.rename(made.file)
        rest = first
        while part := connection.recv(65_536):
            rest += part
    assert rest.partition(b"\r\n\r\n")[2] == made.content
    made.file.write_bytes(made.content)


@contextlib.contextmanager
def large(made, size=(5 << 30) + 3):
    """Makes the second job's output a file with a hole, of which the ledger, its mark and its times say that the job has made
    it."""
    digest = bytes(range(32))
    file = made.ledger.folder / "out/deep/b.mp3"
    times = file.stat()
    saved, mark = file.read_bytes(), os.getxattr(file, "user.sluice")
    old = made.ledger.query(
        "select encode(digest, 'hex') || ' ' || size || ' ' || extract(epoch from ended_at) from sluice.finished where job = 2"
    ).split()
    made.ledger.query(f"update sluice.finished set size = {size}, digest = '\\x{digest.hex()}' where job = 2")
    try:
        with open(file, "r+b") as writing:
            writing.truncate(size)
            writing.seek(size - 7)
            writing.write(b"the end")
        os.setxattr(file, "user.sluice", mark[:24] + struct.pack(">q", size) + digest)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        ended(made, "clock_timestamp() + interval '1 s'")
        yield "/api/v1/jobs/2/outputs/1", size, file
    finally:
        file.write_bytes(saved)
        os.setxattr(file, "user.sluice", mark)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        made.ledger.query(f"update sluice.finished set size = {old[1]}, digest = '\\x{old[0]}' where job = 2")
        ended(made, f"to_timestamp({old[2]})")


def ended(made, moment):
    """Lets the ledger say that the second job ended then."""
    made.ledger.query(f"update sluice.finished set ended_at = {moment} where job = 2")


def begin(api, path, *fields):
    """Begins a download, and reads none of the file."""
    connection = api.connect()
    head = "".join(f"{field}\r\n" for field in fields)
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{head}\r\n".encode())
    return connection, connection.recv(12)


def test_serves_the_middle_of_a_file_of_more_than_4_gib(made):
    def bytes_read():
        return int(re.search(r"rchar: (\d+)", open(f"/proc/{made.api.pid}/io").read())[1])

    with large(made) as (path, size, file):
        before = bytes_read()
        assert made.get("HEAD", path=path).headers["content-length"] == str(size)
        answer = made.get(path=path, range=f"bytes={size - 10}-")
        assert (answer.status_code, answer.content) == (206, b"\0\0\0the end")
        assert answer.headers["content-range"] == f"bytes {size - 10}-{size - 1}/{size}"
        answer = made.get(path=path, range=f"bytes={1 << 32}-{(1 << 32) + 999_999}")
        assert answer.content == bytes(1_000_000)
        # The mark says what the file is, so it is not read for that.
        assert bytes_read() - before < 1 << 30


def test_reads_all_of_a_large_file_whose_mark_or_time_tells_nothing(made):
    with large(made, 40 << 20) as (path, _, file):
        assert made.get("HEAD", path=path).status_code == 200
        # A person writes into it just after it was published.
        since = made.ledger.query("select ceil(extract(epoch from ended_at)) from sluice.finished where job = 2")
        os.utime(file, (int(since), int(since)))
        problem(made.get(range="bytes=0-1", path=path), 409, "output_changed")
        problem(made.get(path=path), 409, "output_changed")
    with large(made, 40 << 20) as (path, _, file):
        # Another program forged it later, and set back the time that can be set.
        ended(made, "clock_timestamp() - interval '5 s'")
        problem(made.get(path=path), 409, "output_changed")
        problem(made.get(range="bytes=0-1", path=path), 409, "output_changed")
    with large(made, 40 << 20) as (path, _, file):
        os.removexattr(file, "user.sluice")
        problem(made.get(path=path), 409, "output_changed")


def test_one_caller_takes_no_places_of_others(made):
    other = token(made.ledger, "viewer", name="other")["authorization"]
    with large(made) as (path, _, _):
        begun = [begin(made.api, path) for _ in range(64)]
        try:
            assert {status for _, status in begun} == {b"HTTP/1.1 200"}
            problem(made.get(), 503, "overloaded")
            assert made.get(authorization=other).content == made.content
        finally:
            for connection, _ in begun:
                connection.close()


@pytest.mark.process
def test_stops_in_the_middle_of_downloads(made):
    """Some clients read as fast as they can, and some read nothing."""
    with large(made) as (path, _, _):
        with CoordinatorProcess(made.ledger, "--open-role", "viewer", "--root", f"out={made.ledger.folder}/out",
                                "--downloads", "out") as api:
            begun = [begin(api, path) for _ in range(8)]
            stopped = threading.Event()

            def read(connection):
                with contextlib.suppress(OSError):
                    while connection.recv(1 << 20) and not stopped.is_set():
                        pass

            readers = [threading.Thread(target=read, args=[connection]) for connection, _ in begun[:4]]
            for reader in readers:
                reader.start()
            api.process.send_signal(signal.SIGTERM)
            assert api.process.wait(PATIENCE) == 0, api.said()
            stopped.set()
            for reader in readers:
                reader.join(PATIENCE)
            for connection, _ in begun:
                connection.close()


def test_slow_readers_disturb_nobody(made):
    with large(made) as (path, _, file):
        def are_open():
            return str(file) in made.api.open_files()

        def is_served_meanwhile():
            slow = [begin(made.api, path)[0] for _ in range(60)]
            assert made.get().content == made.content
            # Readers that nothing reaches are cut after half a minute.
            were_open = are_open()
            for connection in slow:
                connection.close()
            end = time.monotonic() + PATIENCE
            while are_open():
                assert time.monotonic() < end
                # Nothing tells a test what a process has done with its descriptors.
                time.sleep(0.05)
            return were_open

        # A busy machine may take as long.
        assert any(is_served_meanwhile() for _ in range(3))
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert set(pool.map(lambda _: made.get().content == made.content, range(64))) == {True}


def test_serves_only_those_who_see_the_job_and_only_when_it_is_done(ledger):
    words = folders(ledger)
    with Coordinator(ledger, *words) as api, Coordinator(ledger, "--open-role", "submitter") as plain:
        for name in ["acme", "zenith"]:
            ledger.run("tenants", "create", name)
        acme = token(ledger, "submitter", "--tenant", "acme", name="acme-1")
        zenith = token(ledger, "viewer", "--tenant", "zenith", name="zenith-1")
        jobs = {"jobs": [{"source": "in:talk.wav", "output": "out:a.flac"}]}
        waiting = api.post("/api/v1/batches", jobs, headers=acme).json()["firstJob"]
        path = f"/api/v1/jobs/{waiting}/outputs/1"
        problem(api.ask("GET", path, headers=acme), 409, "no_output")
        problem(api.ask("GET", path), 401, "no_token")
        convert(ledger, plain, ["b.flac"])
        answer = api.ask("GET", path, headers=acme)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "audio/flac")
        assert api.ask("GET", path, headers=token(ledger, "viewer")).status_code == 200
        problem(api.ask("GET", path, headers=zenith), 404, "no_such_thing")
        # Off by default.
        problem(plain.ask("GET", f"/api/v1/jobs/{waiting + 1}/outputs/1"), 404, "not_served")
