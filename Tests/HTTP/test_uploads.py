"""Files that programs send: whole or not at all, whatever the client, the disk and other clients do."""

import base64
import concurrent.futures
import hashlib
import itertools
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.parse

import pytest

from coordinators import Coordinator, CoordinatorProcess
from terminal import PATIENCE, stop
from test_access import token
from test_operations import jobs, problem

PATH = "/api/v1/files/in/"
# How long a test waits for answers that it does not expect, in seconds.
BRIEFLY = 0.2


def place(folder):
    (folder / "in").mkdir(exist_ok=True)
    return ["--root", f"in={folder}/in", "--uploads", "in"]


@pytest.fixture
def api(ledger):
    with Coordinator(ledger, "--open-role", "submitter", *place(ledger.folder)) as api:
        yield api


def digest(content):
    return f"sha-256=:{base64.b64encode(hashlib.sha256(content).digest()).decode()}:"


def put(api, path, content, **fields):
    headers = {name.replace("_", "-"): value for name, value in fields.items()}
    return api.ask("PUT", PATH + path, content=content, headers=headers)


def head(path, length, *fields):
    lines = [f"PUT {PATH}{path} HTTP/1.1", "Host: localhost", f"Content-Length: {length}", *fields]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def answers(connection, quiet=PATIENCE, expected=1):
    """The statuses that come until the server closes the connection, or until nothing more comes for `quiet` seconds after the
    expected ones."""
    text, statuses = b"", []
    try:
        while True:
            connection.settimeout(PATIENCE if len(statuses) < expected else quiet)
            part = connection.recv(65_536)
            if not part:
                break
            text += part
            statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", text)]
    except (TimeoutError, ConnectionError):
        pass
    return statuses


def files(folder):
    """Every file below the folder, hidden ones as well."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def wait_for(is_done, what):
    end = time.monotonic() + PATIENCE
    while not is_done():
        assert time.monotonic() < end, what
        # Nothing tells a test what a process has done with its descriptors.
        time.sleep(0.02)


def unfinished(api):
    """How many unfinished files the coordinator has open."""
    # The reader's twin of each is deleted, too.
    return sum("(deleted)" in file for file in api.open_files()) // 2


def test_takes_a_file_whole_and_repeats_nothing(api, ledger):
    content = os.urandom(3_000_000)
    answer = put(api, "a%20b/t%C3%B6ne%252e.wav", content, content_digest=digest(content), repr_digest=digest(content))
    assert answer.status_code == 201, answer.text
    assert answer.json() == {
        "location": "in:a b/töne%2e.wav", "bytes": 3_000_000, "digest": hashlib.sha256(content).hexdigest()
    }
    assert answer.headers["repr-digest"] == digest(content)
    assert (ledger.folder / "in/a b/töne%2e.wav").read_bytes() == content
    assert put(api, "a%20b%2Ft%C3%B6ne%252e.wav", content).status_code == 200
    problem(put(api, "a%20b/t%C3%B6ne%252e.wav", content[:-1]), 409, "file_exists")
    problem(put(api, "a%20b/t%C3%B6ne%252e.wav", content[:-1] + b"x"), 409, "file_exists")
    assert (ledger.folder / "in/a b/töne%2e.wav").read_bytes() == content
    assert put(api, "empty", b"").status_code == 201
    assert files(ledger.folder / "in") == ["a b/töne%2e.wav", "empty"]
    rows = [json.loads(line) for line in ledger.run("audit", "--json").splitlines()]
    rows = [(row["who"], row["details"]["bytes"], row["details"]["isNew"]) for row in rows if row["what"] == "upload"]
    assert rows == [("token:local", 0, True), ("token:local", 3_000_000, False), ("token:local", 3_000_000, True)]


@pytest.mark.parametrize("name", [
    "\u05e9\u05d9\u05e8 (3)\u200f.wav", "C++\u200e \u05e9\u05d9\u05e2\u05d5\u05e8.wav",
    "\u0663\u061c-\u0623\u063a\u0646\u064a\u0629.wav", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645.wav",
])
def test_takes_names_that_are_written_from_right_to_left(api, ledger, name):
    """With the marks and joiners that ordinary text in Hebrew, Arabic and Persian has."""
    assert put(api, urllib.parse.quote(name), b"x").status_code == 201
    assert files(ledger.folder / "in") == [name]
    assert api.get(PATH + urllib.parse.quote(name))["location"] == f"in:{name}"


def test_tells_what_is_there(api, ledger):
    assert api.get("/api/v1/files") == {"uploads": ["in"], "downloads": [], "mostUploadBytes": 4 << 30}
    content = os.urandom(100_000)
    problem(api.ask("GET", PATH + "b/a.wav"), 404, "no_such_thing")
    assert put(api, "b/a.wav", content).status_code == 201
    assert api.get(PATH + "b%2Fa.wav") == {
        "location": "in:b/a.wav", "bytes": 100_000, "digest": hashlib.sha256(content).hexdigest()
    }
    (ledger.folder / "in/b/a.wav").write_bytes(b"x")
    assert api.get(PATH + "b/a.wav")["digest"] == hashlib.sha256(b"x").hexdigest()
    problem(api.ask("GET", PATH + "b"), 400, "bad_path")
    problem(api.ask("GET", "/api/v1/files/out/a"), 404, "not_served")
    (ledger.folder / "in/link").symlink_to("/etc/hostname")
    problem(api.ask("GET", PATH + "link"), 400, "bad_path")


def test_a_job_can_name_the_file(api):
    assert put(api, "talk.wav", b"x").status_code == 201
    assert api.post("/api/v1/batches", {"jobs": [{"source": "in:talk.wav", "output": "in:talk.flac"}]}).status_code == 201


@pytest.mark.parametrize("field", ["content_digest", "repr_digest"])
def test_compares_the_digest(api, ledger, field):
    problem(put(api, "a.wav", b"sound", **{field: digest(b"other")}), 422, "wrong_digest")
    for wrong in ["", "sha-256", "sha-256=abc", "sha-256=:abc:", "sha-256=:!:", "sha-256=:" + "A" * 44 + ":"]:
        problem(put(api, "a.wav", b"sound", **{field: wrong}), 400, "bad_parameter")
    assert files(ledger.folder / "in") == []
    # Digests of other kinds are not asked about.
    both = f"sha-512=:AAAA:, {digest(b'sound')}"
    assert put(api, "a.wav", b"sound", **{field: both}).status_code == 201


def test_refuses_hostile_paths(api, ledger):
    outside = ledger.folder / "outside"
    outside.mkdir()
    (ledger.folder / "in/link").symlink_to(outside)
    (ledger.folder / "in/below").mkdir()
    (ledger.folder / "in/inner").symlink_to("below")
    (ledger.folder / "in/file").symlink_to(outside / "file")
    (ledger.folder / "in/plain").write_bytes(b"plain")
    os.mkfifo(ledger.folder / "in/pipe")
    before = files(ledger.folder)
    hostile = [
        "../outside/a", "..%2Foutside%2Fa", "a/../../outside/a", "a/%2e%2e/b", "%2e%2e/outside/a", "./a", "a/./b", "a//b",
        "/etc/passwd", "%2Fetc%2Fpasswd", "a/", "%2F", "a%2F", ".", "..", "a%00b", "a%0ab", "a%1bb", "a%7fb", "%c2%85",
        "%e2%80%a8", "a%e2%80%aevaw.jpg", "a%e2%81%a6b", "a/%e2%80%aab", "%ff", "%c0%ae%c0%ae/a", "%", "%zz", "x" * 256,
        "/".join(["d"] * 33), ".a.sluice-1.part",
        "d/.a.sluice-1-1-00000000000000000000000000000000.attempt", "link/a", "inner/a", "plain/a",
    ]
    for path in hostile:
        with api.connect() as connection:
            connection.sendall(head(path, 4, "Connection: close") + b"evil")
            statuses = answers(connection)
        assert statuses and set(statuses) <= {400, 404}, (path, statuses)
    for path in ["file", "pipe", "below"]:
        problem(put(api, path, b"evil"), 409, "file_exists")
    # A backslash, an escape that was escaped and what only looks like a dot are names like others.
    for path, name in [("%5c..%5ca", "\\..\\a"), ("%252e%252e", "%2e%2e"), ("%EF%BC%8E%EF%BC%8E", "．．")]:
        assert put(api, path, b"fine").status_code == 201
        (ledger.folder / "in" / name).unlink()
    assert files(ledger.folder) == before


def test_knows_only_the_roots_that_take_uploads(ledger):
    for name in ["in", "out"]:
        (ledger.folder / name).mkdir()
    roots = ["--root", f"in={ledger.folder}/in", "--root", f"out={ledger.folder}/out"]
    with Coordinator(ledger, "--open-role", "submitter", *roots, "--uploads", "in", "--max-upload", "1KiB") as api:
        for root in ["out", "other", "In", "in:", "file"]:
            problem(api.ask("PUT", f"/api/v1/files/{root}/a", content=b"x"), 404, "not_served")
        problem(api.ask("PUT", PATH + "a", content=b"x" * 1_025), 413, "upload_too_large")
        assert api.ask("PUT", PATH + "a", content=b"x" * 1_024).status_code == 201
        problem(api.ask("PUT", PATH + "b", content=b"x", headers={"content-range": "bytes 0-0/2"}), 400, "bad_parameter")
        problem(api.ask("PUT", PATH + "b", content=b"x", headers={"content-encoding": "gzip"}), 415, "wrong_type")
        with api.connect() as connection:
            connection.sendall(f"PUT {PATH}b HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert answers(connection, BRIEFLY) == [411]
    with Coordinator(ledger, "--open-role", "submitter", *roots) as api:
        problem(api.ask("PUT", PATH + "c", content=b"x"), 404, "not_served")
    assert files(ledger.folder / "in") == ["a"]


@pytest.mark.parametrize("words, why", [
    (["--uploads", "in"], "--uploads needs --listen"), (["--listen", "0", "--uploads", "in"], "which no --root has"),
    (["--listen", "0", "--uploads", "in", "--root", "in=.:ro"], "forbid --uploads"),
    (["--listen", "0", "--downloads", "in", "--root", "in=.:wo"], "forbid --downloads"),
])
def test_says_what_is_wrong_with_its_options(ledger, words, why):
    from terminal import SLUICE, environment
    done = subprocess.run(
        [str(SLUICE), "coordinator", *words], cwd=ledger.folder, env=environment(**ledger.variables), capture_output=True,
        text=True
    )
    assert done.returncode == 2 and why in done.stderr, done


def test_leaves_nothing_of_a_file_that_does_not_arrive(api, ledger):
    """A client that goes, lies about the length, or ends early."""
    for sent in [0, 1, 500_000]:
        with api.connect() as connection:
            connection.sendall(head("a", 1_000_000) + b"x" * sent)
            wait_for(lambda: unfinished(api) == 1, "an unfinished file")
    wait_for(lambda: unfinished(api) == 0, "the unfinished files are closed")
    with api.connect() as connection:
        # Longer than it says: the rest is not a request.
        connection.sendall(head("b", 4) + b"good" + b"evil" * 10 + b"\r\n\r\n")
        assert answers(connection, BRIEFLY)[0] == 201
    assert files(ledger.folder / "in") == ["b"] and (ledger.folder / "in/b").read_bytes() == b"good"
    assert '"trouble"' not in api.said()


@pytest.mark.process
def test_a_kill_in_the_middle_leaves_nothing(ledger):
    with CoordinatorProcess(ledger, "--open-role", "submitter", *place(ledger.folder)) as api:
        connection = api.connect()
        connection.sendall(head("a", 1_000_000) + b"x" * 900_000)
        wait_for(lambda: unfinished(api) == 1, "an unfinished file")
        api.process.kill()
        api.process.wait()
        connection.close()
        assert files(ledger.folder / "in") == []
        api.__enter__()
        assert put(api, "a", b"whole").status_code == 201


def test_one_of_two_at_once_wins_whole(api, ledger):
    contents = [bytes([number]) * 2_000_000 for number in range(8)]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for trial in range(5):
            statuses = list(pool.map(lambda one: put(api, f"a{trial}", one).status_code, contents))
            assert sorted(statuses) == [201] + [409] * 7
            assert (ledger.folder / f"in/a{trial}").read_bytes() == contents[statuses.index(201)]
        same = list(pool.map(lambda _: put(api, "same", contents[0]).status_code, range(8)))
    assert sorted(same) == [200] * 7 + [201]


def test_a_full_disk_refuses_and_keeps_nothing(ledger):
    folder = ledger.folder / "in"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)], check=True)
    try:
        with Coordinator(ledger, "--open-role", "submitter", *place(ledger.folder)) as api:
            # Refused before its bytes are sent.
            with api.connect() as connection:
                connection.sendall(head("a", 40 << 20, "Expect: 100-continue"))
                assert answers(connection, BRIEFLY) == [507]
            # Two that have space alone.
            halves = [api.connect() for _ in range(2)]
            for number, connection in enumerate(halves):
                connection.sendall(head(f"b{number}", 20 << 20))
            wait_for(lambda: unfinished(api) == 2, "two unfinished files")
            with concurrent.futures.ThreadPoolExecutor() as pool:
                def send(connection):
                    try:
                        connection.sendall(b"x" * (20 << 20))
                    except ConnectionError:
                        return []  # refused, and the rest was not read
                    return answers(connection, BRIEFLY)

                statuses = list(pool.map(send, halves))
            assert statuses.count([201]) < 2 and set(sum(statuses, [])) <= {201, 507}, statuses
            wait_for(lambda: unfinished(api) == 0, "nothing is left open")
            left = sum(os.path.getsize(folder / name) for name in files(folder))
            assert left in [0, 20 << 20]
            assert put(api, "c", b"x").status_code == 201
            for connection in halves:
                connection.close()
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.process
def test_cuts_clients_that_send_too_slowly(api, ledger):
    """A byte in a second keeps a place for a minute at most. A slow client that makes progress is served."""
    slow = [api.connect() for _ in range(5)]
    for number, connection in enumerate(slow):
        connection.sendall(head(f"slow{number}", 1_000_000))
    steady = api.connect()
    steady.sendall(head("steady", 400_000))
    start, sent = time.monotonic(), 0
    open_ones = list(slow)
    while open_ones or sent < 400_000:
        # One that is not cut stays for ever.
        assert time.monotonic() - start < PATIENCE, f"{len(open_ones)} are still served"
        for connection in list(open_ones):
            try:
                connection.sendall(b"x")
                connection.settimeout(0.01)
                if connection.recv(100) == b"":
                    open_ones.remove(connection)
            except TimeoutError:
                pass
            except ConnectionError:
                open_ones.remove(connection)
        if sent < 400_000:
            steady.sendall(b"y" * 8_000)
            sent += 8_000
        # The pace of the attack.
        time.sleep(1)
    assert time.monotonic() - start > 20
    assert answers(steady, BRIEFLY) == [201]
    wait_for(lambda: unfinished(api) == 0, "the unfinished files are closed")
    assert files(ledger.folder / "in") == ["steady"]


@pytest.fixture
def separate(ledger):
    """The same in a process of its own, which tests may measure."""
    with CoordinatorProcess(ledger, "--open-role", "submitter", *place(ledger.folder)) as api:
        yield api


def test_64_at_once_need_little_memory(separate, ledger):
    api = separate
    put(api, "first", b"x" * 1_000_000)
    before, size = api.resident(), 4 << 20
    content = os.urandom(1 << 20) * 4
    most = 0
    connections = [api.connect() for _ in range(64)]
    for number, connection in enumerate(connections):
        connection.sendall(head(f"{number}", size))
    wait_for(lambda: unfinished(api) == 64, "64 unfinished files")
    # One more of the same caller.
    with api.connect() as connection:
        connection.sendall(head("more", size, "Expect: 100-continue"))
        assert answers(connection, BRIEFLY) == [503]
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        def send(connection):
            connection.settimeout(PATIENCE)
            connection.sendall(content)
            return [int(connection.recv(4_096).split()[1])]

        done = [pool.submit(send, connection) for connection in connections]
        while not all(one.done() for one in done):
            most = max(most, api.resident())
            assert api.client.get("/healthz").status_code == 200
            # The pace of the measurement.
            time.sleep(0.05)
        assert [one.result() for one in done] == [[201]] * 64
    print(f"64 uploads of {size >> 20} MiB: {(most - before) >> 20} MiB more memory")
    assert most - before < 160 << 20
    assert len(files(ledger.folder / "in")) == 65
    assert (ledger.folder / "in/63").read_bytes() == content


def test_waits_for_the_body_until_it_is_wanted(ledger):
    """`Expect: 100-continue` gets the refusal instead of the invitation."""
    with Coordinator(ledger, *place(ledger.folder)) as api:
        good = token(ledger, "submitter")["authorization"]
        viewer = token(ledger, "viewer")["authorization"]
        for secret, status in [("Bearer x", 401), (viewer, 403), (good, 100)]:
            with api.connect() as connection:
                connection.sendall(head("a", 4, "Expect: 100-continue", f"Authorization: {secret}"))
                assert answers(connection, BRIEFLY) == [status]
                if status == 100:
                    connection.sendall(b"good")
                    assert answers(connection, BRIEFLY) == [201]
        # Without it, too, a refusal comes before a long body does.
        with api.connect() as connection:
            connection.sendall(head("b", 1 << 30, "Authorization: Bearer x"))
            assert answers(connection) == [401]
        # A body that is not so long is read, and the connection stays.
        with api.connect() as connection:
            for _ in range(3):
                connection.sendall(head("b", 4, "Authorization: Bearer x") + b"evil")
            assert answers(connection, BRIEFLY, expected=3) == [401] * 3
        done = subprocess.run(
            ["curl", "--silent", "--show-error", "--fail-with-body", "-H", f"Authorization: {good}",
             "-T", "-", "-H", "Transfer-Encoding:", "-H", "Content-Length: 4", f"{api.url}{PATH}c"],
            input=b"curl", capture_output=True
        )
        assert done.returncode == 0, done
    assert files(ledger.folder / "in") == ["a", "c"]


BROWSERS = {
    "chromium": [
        "Connection: keep-alive", 'sec-ch-ua: "Chromium";v="140"', "sec-ch-ua-mobile: ?0", "Content-Type: audio/wav",
        "Accept: */*", "Origin: {origin}", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty",
        "Referer: {origin}/", "Accept-Encoding: gzip, deflate, br, zstd", "Accept-Language: de-DE,de;q=0.9,en;q=0.8",
    ],
    "firefox": [
        "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Accept: */*",
        "Accept-Language: de,en-US;q=0.7,en;q=0.3", "Accept-Encoding: gzip, deflate, br, zstd", "Content-Type: audio/x-wav",
        "Referer: {origin}/", "Origin: {origin}", "Connection: keep-alive", "Sec-Fetch-Dest: empty", "Sec-Fetch-Mode: cors",
        "Sec-Fetch-Site: same-origin", "Priority: u=0",
    ],
}


@pytest.mark.parametrize("name", BROWSERS)
def test_takes_what_a_browser_sends(api, ledger, name):
    """The bytes of `fetch(url, {method: "PUT", body: file})` on a page of the same origin: no browser is installed here."""
    content = os.urandom(300_000)
    fields = [field.format(origin="http://localhost") for field in BROWSERS[name]]
    with api.connect() as connection:
        connection.sendall(head("Aufnahme%20(1).wav", len(content), *fields))
        connection.sendall(content)
        assert answers(connection, BRIEFLY) == [201]
    assert (ledger.folder / "in/Aufnahme (1).wav").read_bytes() == content


def test_pages_of_other_origins_are_not_let_in(api):
    """A browser asks before it sends a PUT elsewhere, and gets no leave."""
    asked = api.client.request(
        "OPTIONS", PATH + "a", headers={"origin": "http://evil", "access-control-request-method": "PUT"}
    )
    assert asked.status_code == 405
    answer = api.client.put(PATH + "a", content=b"x", headers={"origin": "http://evil"})
    assert answer.status_code == 403 and answer.json()["code"] == "foreign_origin"
    assert not [name for one in [asked, answer] for name in one.headers if name.startswith("access-control-")]


@pytest.mark.process
def test_a_silent_root_holds_up_only_its_own_uploads(ledger):
    for name in ["in", "mute", "behind"]:
        (ledger.folder / name).mkdir()
    mute = ledger.folder / "mute"
    mount = subprocess.Popen(["bindfs", "-f", "-o", "direct_io", str(ledger.folder / "behind"), str(mute)])
    try:
        wait_for(lambda: os.path.ismount(mute), "bindfs mounts")
        words = ["--root", f"mute={mute}", "--uploads", "mute", *place(ledger.folder)]
        with Coordinator(ledger, "--open-role", "submitter", *words) as api:
            assert api.client.put("/api/v1/files/mute/a", content=b"x").status_code == 201
            names = itertools.count()

            def served_meanwhile():
                """How many uploads to the other root are served while some wait for the silent one."""
                stop(mount.pid)
                with concurrent.futures.ThreadPoolExecutor() as pool:
                    stuck = [
                        pool.submit(api.client.put, f"/api/v1/files/mute/{next(names)}", content=b"y" * 500_000)
                        for _ in range(3)
                    ]
                    served = 0
                    # They wait for ten seconds.
                    while not any(one.done() for one in stuck):
                        assert put(api, f"{next(names)}", b"x" * 100_000).status_code == 201
                        served += not any(one.done() for one in stuck)
                        # The pace of a client.
                        time.sleep(0.1)
                    for one in stuck:
                        problem(one.result(), 503, "storage_silent")
                    # At once now.
                    problem(api.client.put("/api/v1/files/mute/b", content=b"x"), 503, "storage_silent")
                    mount.send_signal(signal.SIGCONT)
                    wait_for(
                        lambda: api.client.put("/api/v1/files/mute/b", content=b"x").status_code in [200, 201],
                        "the root is back"
                    )
                return served

            # A busy machine may serve none in one try.
            assert any(served_meanwhile() for _ in range(3))
            # The coordinator removes what it had begun once the root answers, and bindfs then what was still open.
            wait_for(lambda: set(files(ledger.folder / "behind")) == {"a", "b"}, "only the whole files are left")
    finally:
        mount.send_signal(signal.SIGCONT)
        mount.terminate()
        mount.wait(PATIENCE)
        subprocess.run(["umount", "-l", str(mute)], capture_output=True)


def test_a_tenant_uploads_where_it_may_and_as_much_as_it_may(ledger):
    with Coordinator(ledger, *place(ledger.folder)) as api:
        ledger.run("tenants", "create", "acme")
        ledger.run("tenants", "limit", "acme", "--writes", "in:acme/", "--upload-bytes", "1000")
        acme = token(ledger, "submitter", "--tenant", "acme", name="acme-1")["authorization"]
        (ledger.folder / "in/other").mkdir()
        (ledger.folder / "in/acme").mkdir()
        (ledger.folder / "in/acme/link").symlink_to("../other")
        for path in ["a", "other/a", "acme", "acmeother/a"]:
            problem(put(api, path, b"x", authorization=acme), 403, "ledger_permission_denied")
        problem(put(api, "acme/link/a", b"x", authorization=acme), 400, "bad_path")
        assert put(api, "acme/a", b"x" * 600, authorization=acme).status_code == 201
        # Neither does a file that is sent again, because its answer was lost, nor a failure.
        assert put(api, "acme/a", b"x" * 600, authorization=acme).status_code == 200
        for _ in range(3):
            assert put(api, "acme/a", b"x" * 400, authorization=acme).status_code == 409
        refused = put(api, "acme/b", b"x" * 401, authorization=acme)
        problem(refused, 429, "ledger_quota_exceeded")
        assert refused.headers["retry-after"]
        problem(put(api, "acme/b", b"x" * 400, authorization=acme, content_digest=digest(b"")), 422, "wrong_digest")
        wait_for(lambda: ledger.query("select sum(bytes) from sluice.upload") == "600", "the bytes are given back")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            statuses = list(pool.map(
                lambda number: put(api, f"acme/{number}", b"x" * 150, authorization=acme).status_code, range(8)
            ))
        assert sorted(statuses) == [201] * 2 + [429] * 6
        ledger.query("update sluice.upload set began = began - interval '25 hours'")
        assert put(api, "acme/c", b"x" * 1_000, authorization=acme).status_code == 201
        assert ledger.query("select sum(bytes) from sluice.upload") == "1000"
        ledger.run("tenants", "limit", "acme", "--upload-bytes", "none", "--writes", "any")
        assert put(api, "acme/d", b"x" * 2_000, authorization=acme).status_code == 201
        audit = [json.loads(line) for line in ledger.run("audit", "--json").splitlines()]
        row = next(row for row in audit if row["what"] == "upload")
        assert (row["who"], row["tenant"], row["details"]["location"]) == ("token:acme-1", "acme", "in:acme/d")
