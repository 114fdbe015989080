"""One caller that takes as much as it can get. Each test looks at what others are served meanwhile."""

import contextlib
import hashlib
import os
import re
import threading
import time

import httpx

from coordinators import Coordinator, CoordinatorProcess, beside, takes_less_than
from test_access import token
from test_events import Stream
from terminal import PATIENCE
from test_operations import jobs, lines, problem

# What one caller may keep others waiting, in seconds: the server cuts a caller that holds others up after half a minute.
SOON = 25


def stream(api, fields=""):
    """A submission of JSON Lines that has begun and does not end."""
    connection = api.connect()
    start = lines(jobs(2_000)).encode()
    connection.sendall(
        f"POST /api/v1/batches HTTP/1.1\r\nHost: 127.0.0.1:{api.port}\r\n{fields}"
        f"Content-Type: application/x-ndjson\r\nContent-Length: {len(start) + 100}\r\n\r\n".encode() + start
    )
    return connection


def test_slow_submissions_do_not_hold_up_others(ledger):
    with Coordinator(ledger) as api:
        slow, other = token(ledger, "submitter", name="slow"), token(ledger, "submitter", name="other")
        fields = f"Authorization: {slow['authorization']}\r\n"
        # Tokens that have not been looked up before.
        fresh = [token(ledger, "viewer", name=f"fresh-{number}") for number in range(5)]

        def ask():
            assert api.ask("GET", "/readyz").status_code == 200
            assert api.ask("GET", "/api/v1/jobs", headers=other).status_code == 200
            assert api.ask("GET", "/api/v1/status", headers=fresh.pop()).status_code == 200
            assert api.post("/api/v1/batches", {"jobs": jobs(300)}, headers=other).status_code == 201
            # Nothing of the database is held for jobs that may still come.
            held = ledger.query("select count(*) from pg_stat_activity where datname = current_database() "
                                "and state <> 'idle' and pid <> pg_backend_pid() and query ilike '%copy%'")
            assert int(held) == 0

        beside(lambda: [stream(api, fields) for _ in range(30)], ask)


def test_one_caller_has_so_many_submissions_at_once(ledger):
    with Coordinator(ledger) as api:
        many, other = token(ledger, "submitter", name="many"), token(ledger, "submitter", name="other")
        streams = []
        for _ in range(32):
            streams.append(api.connect())
            streams[-1].sendall(
                f"POST /api/v1/batches HTTP/1.1\r\nHost: 127.0.0.1:{api.port}\r\nAuthorization: {many['authorization']}\r\n"
                "Content-Type: application/x-ndjson\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n".encode()
            )
            # The jobs are wanted once the submission has its place.
            assert b" 100 " in streams[-1].recv(1_000)
        headers = {"content-type": "application/x-ndjson"}
        answer = api.ask("POST", "/api/v1/batches", content=lines(jobs(1)), headers={**many, **headers})
        problem(answer, 429, "ledger_quota_exceeded")
        assert api.ask("POST", "/api/v1/batches", content=lines(jobs(1)), headers={**other, **headers}).status_code == 201
        for connection in streams:
            connection.close()


@contextlib.contextmanager
def repeated(count, act):
    """`act` again and again, `count` at one time."""
    is_over = threading.Event()

    def repeat():
        while not is_over.is_set():
            act()

    threads = [threading.Thread(target=repeat) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def test_a_caller_whose_share_is_used_up_does_not_hold_up_the_events_of_others(ledger):
    recipe = {"version": 1, "sources": [{"location": "{source}"}], "outputs": [
        {"location": "{stem}.mp3", "format": {"container": "mp3"}}]}
    with Coordinator(ledger) as api:
        busy, other = token(ledger, "operator", name="busy"), token(ledger, "submitter", name="other")

        def wait_for_the_lock():
            api.ask("PUT", "/api/v1/presets/house", json={"recipe": recipe}, headers=busy)

        # Three rounds of four jobs.
        receipt = api.post("/api/v1/batches", {"jobs": jobs(12)}, headers=other).json()
        query = f"batch={receipt['batch']}"
        waiting, watched = Stream(api, query, busy), Stream(api, query, other)
        assert waiting.next()[0] == watched.next()[0] == "batch"
        with ledger.hold("lock table sluice.preset") as holder, repeated(16, wait_for_the_lock):
            times = []
            # A busy machine may delay one round or two.
            while not times or times[-1] >= 20:
                assert len(times) < 3, times
                start = time.monotonic()
                for number in range(4 * len(times), 4 * len(times) + 4):
                    change = {"change": "cancel", "filter": {"id": [receipt["firstJob"] + number]}}
                    assert api.post("/api/v1/changes", change, headers=other).status_code == 200
                    watched.until(lambda batch: batch["jobs"]["cancelled"] > number)
                # The other one's look at the ledger ends after 5 seconds.
                times.append(time.monotonic() - start)
            holder.stdin.close()
        for stream in (waiting, watched):
            stream.close()


def begin_body(api, length, sent, fields=""):
    """A request with a body of which `sent` bytes come."""
    connection = api.connect()
    try:
        connection.sendall(
            f"POST /api/v1/batches HTTP/1.1\r\nHost: 127.0.0.1:{api.port}\r\n{fields}"
            f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n".encode() + b" " * sent
        )
    except ConnectionError:
        pass  # refused before the end
    return connection


def test_bodies_without_a_token_are_not_read(ledger):
    with CoordinatorProcess(ledger) as api:
        good = token(ledger, "submitter")
        # What the first requests need is not counted.
        assert api.post("/api/v1/batches", {"jobs": jobs(1)}, headers=good).status_code == 201
        before, size = api.resident(), 8 << 20

        def ask(_):
            held = [begin_body(api, size, size - 1) for _ in range(20)]
            start = time.monotonic()
            assert api.post("/api/v1/batches", {"jobs": jobs(1)}, headers=good).status_code == 201
            took = time.monotonic() - start
            assert api.resident() - before < 16 << 20
            for connection in held:
                connection.close()
            return took

        takes_less_than(SOON, ask)
        # A client that announces a body without a token is refused before it sends the body.
        assert b" 401 " in begin_body(api, size, 0).recv(1_000)


def test_a_header_reserves_no_memory_for_its_body(ledger):
    def address_space(api):
        return int(re.search(r"VmSize:\s+(\d+) kB", open(f"/proc/{api.pid}/status").read())[1]) << 10

    with CoordinatorProcess(ledger) as api:
        fields = f"Authorization: {token(ledger, 'submitter')['authorization']}\r\n"
        begin_body(api, 10, 0, fields).close()
        before = address_space(api)

        def measure():
            assert api.ask("GET", "/readyz").status_code == 200
            # All of them would take 2.3 GiB. What remains is for the arenas of threads.
            assert address_space(api) - before < 3 << 29

        beside(lambda: [begin_body(api, 8 << 20, 1, fields) for _ in range(300)], measure)


def test_the_bodies_of_one_caller_leave_space_for_others(ledger):
    with Coordinator(ledger) as api:
        many, other = token(ledger, "submitter", name="many"), token(ledger, "submitter", name="other")
        size = 8 << 20
        held = [begin_body(api, size, size - 1, f"Authorization: {many['authorization']}\r\n") for _ in range(12)]
        assert api.post("/api/v1/batches", {"jobs": jobs(20_000)}, headers=other).status_code == 201
        for connection in held:
            connection.close()


def unknown_token():
    """A token with the right checksum, which no ledger knows."""
    secret = os.urandom(32)
    return "slt_" + secret.hex() + hashlib.sha256(b"slt_" + secret).digest()[:4].hex()


class Flood:
    """Requests with tokens that no ledger knows, as many as the server takes, while the block runs."""

    def __init__(self, api, connections=8):
        self.api, self.ends, self.answered = api, threading.Event(), 0
        self.threads = [threading.Thread(target=self.send) for _ in range(connections)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        for thread in self.threads:
            thread.join()

    def send(self):
        with self.api.connect() as connection, connection.makefile("rb") as answers:
            while not self.ends.is_set():
                # Many at once, so that the server is busy and not this program.
                connection.sendall(b"".join(
                    f"GET /api/v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {unknown_token()}\r\n\r\n".encode()
                    for _ in range(100)
                ))
                for _ in range(100):
                    length = 0
                    while (line := answers.readline()) != b"\r\n":
                        assert line, "the connection was closed"
                        if line.lower().startswith(b"content-length:"):
                            length = int(line.split(b":")[1])
                    answers.read(length)
                    self.answered += 1


def test_unknown_tokens_do_not_keep_valid_ones_out(ledger):
    good = [token(ledger, "viewer", name=f"good-{number}") for number in range(10)]
    # Just started, so it knows no token.
    with CoordinatorProcess(ledger) as api, Flood(api) as flood:
        end = time.monotonic() + PATIENCE
        while flood.answered < 1_000:
            assert time.monotonic() < end, flood.answered
            # The requests of other threads are counted.
            time.sleep(0.01)
        for headers in good:
            assert api.ask("GET", "/api/v1/status", headers=headers).status_code == 200
        assert api.ask("GET", "/api/v1/status", headers=good[0]).status_code == 200
        # The flood has no end, so they were not kept waiting for it.
        assert all(thread.is_alive() for thread in flood.threads)


def test_large_bodies_of_one_caller_do_not_hold_up_others(ledger):
    def send():
        # One that finds no more space may be cut while it sends.
        with contextlib.suppress(httpx.TransportError):
            fields = {**many, "content-type": "application/json"}
            answers.append(api.client.post("/api/v1/earlier", content=body, headers=fields))

    with CoordinatorProcess(ledger) as api:
        many, other = token(ledger, "submitter", name="many"), token(ledger, "submitter", name="other")
        # Six megabytes of values that take long to be read.
        body = b'{"destinations": [' + b",".join(b'"a:%x"' % number for number in range(600_000)) + b"]}"
        answers = []

        def ask(_):
            threads = [threading.Thread(target=send) for _ in range(4)]
            for thread in threads:
                thread.start()
            longest = 0
            while any(thread.is_alive() for thread in threads):
                start = time.monotonic()
                assert api.ask("GET", "/api/v1/status", headers=other).status_code == 200
                longest = max(longest, time.monotonic() - start)
                assert api.post("/api/v1/batches", {"jobs": jobs(1)}, headers=other).status_code == 201
                # The pace of a client.
                time.sleep(0.1)
            return longest

        takes_less_than(SOON, ask)
        # The caller's own wait for each other, or find no more space.
        assert answers and {answer.status_code for answer in answers} <= {400, 503}


def test_most_bodies_may_have_some_kilobytes(api):
    for path, size in [("/api/v1/compatibility", 600_000), ("/api/v1/changes", 70_000), ("/api/v1/webhooks", 70_000)]:
        answer = api.ask("POST", path, content=b" " * size, headers={"content-type": "application/json"})
        problem(answer, 413, "body_too_large")
