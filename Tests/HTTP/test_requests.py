"""What reaches the server: requests that lie about their length, host or shape, slow ones, and too many."""

import re
import resource
import socket
import threading
import time

import pytest

from coordinators import beside
from terminal import PATIENCE

SECOND = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
LENGTH = str(len(SECOND)).encode()
HEAD = b"POST /healthz HTTP/1.1\r\nHost: a\r\n"
CHUNKS = b"0\r\n\r\n" + SECOND

# Each carries a second request, or says two things of itself. The path exists, so a second request would be answered 200.
HOSTILE = {
    "two lengths, zero first": HEAD + b"Content-Length: 0\r\nContent-Length: " + LENGTH + b"\r\n\r\n" + SECOND,
    "two lengths, zero last": HEAD + b"Content-Length: " + LENGTH + b"\r\nContent-Length: 0\r\n\r\n" + SECOND,
    "a list of lengths": HEAD + b"Content-Length: 0, " + LENGTH + b"\r\n\r\n" + SECOND,
    "length and chunks": HEAD + b"Content-Length: " + str(len(CHUNKS)).encode()
    + b"\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    "an unknown coding and a length": HEAD + b"Transfer-Encoding: xchunked\r\nContent-Length: " + LENGTH + b"\r\n\r\n"
    + SECOND,
    "two codings": HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n" + CHUNKS,
    "chunks in HTTP/1.0": b"POST /healthz HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    "a space before the colon": HEAD + b"Content-Length : " + LENGTH + b"\r\n\r\n" + SECOND,
    "a length with a plus": HEAD + b"Content-Length: +" + LENGTH + b"\r\n\r\n" + SECOND,
    "a negative length": HEAD + b"Content-Length: -1\r\n\r\n" + SECOND,
    "a hexadecimal length": HEAD + b"Content-Length: 0x24\r\n\r\n" + SECOND,
    "letters after a length": HEAD + b"Content-Length: " + LENGTH + b"abc\r\n\r\n" + SECOND,
    "a folded length": HEAD + b"X: y\r\n Content-Length: " + LENGTH + b"\r\n\r\n" + SECOND,
    "two hosts": b"GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "two tokens": b"GET /healthz HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n",
    "no host": b"GET /healthz HTTP/1.1\r\n\r\n",
    "a hexadecimal chunk size": HEAD + b"Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n" + SECOND,
    "a negative chunk size": HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n" + SECOND,
    "a chunk's extension ended by LF": HEAD + b"Transfer-Encoding: chunked\r\n\r\n2;x\nab\r\n0\r\n\r\n" + SECOND,
    "a chunk that ends wrongly": HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\nabXX0\r\n\r\n" + SECOND,
    "CR alone in a value": b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\rY: b\r\n\r\n",
    "another host in the target": b"GET http://evil/healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    "a control in the method": b"G\x01T /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    "a space in the target": b"GET /healthz y HTTP/1.1\r\nHost: a\r\n\r\n",
    "an escaped zero": b"GET /healthz%00 HTTP/1.1\r\nHost: a\r\n\r\n",
    "bytes that are not UTF-8": b"GET /healthz?a=%ff HTTP/1.1\r\nHost: a\r\n\r\n",
}
# libmicrohttpd 0.9 would read these as the sender may have meant them.
HOSTILE |= {
    "lines ended by LF": b"GET /healthz HTTP/1.1\nHost: a\n\n",
    "a request line ended by LF": b"GET /healthz HTTP/1.1\nHost: a\r\n\r\n",
    "a field ended by LF": b"GET /healthz HTTP/1.1\r\nHost: a\nX: y\r\n\r\n",
    "the last field ended by LF": b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: y\n\r\n",
    "an empty line of LF": b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: y\r\n\n",
    "an empty line of LF before a second request": b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: y\r\n\n" + SECOND,
    "a length ended by LF": HEAD + b"Content-Length: " + LENGTH + b"\n\r\n" + SECOND,
    "a length after LF in a value": HEAD + b"X: y\nContent-Length: " + LENGTH + b"\r\n\r\n" + SECOND,
    "NUL in a value": b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n",
    "NUL in a length": HEAD + b"Content-Length: 0\0" + LENGTH + b"\r\n\r\n" + SECOND,
    "NUL in a host": b"GET /healthz HTTP/1.1\r\nHost: a\0b\r\n\r\n",
    "NUL in the last field and LF": b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\0b\n\n",
    "NUL in the target": b"GET /healthz\0x HTTP/1.1\r\nHost: a\r\n\r\n",
    "NUL in a name": b"GET /healthz HTTP/1.1\r\nHost: a\r\nX\0Y: a\r\n\r\n",
    "two spaces in the request line": b"GET  /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    "a tab in the request line": b"GET\t/healthz HTTP/1.1\r\nHost: a\r\n\r\n",
    "a space after the version": b"GET /healthz HTTP/1.1 \r\nHost: a\r\n\r\n",
    "CR before CR LF": b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: y\r\r\n\r\n",
    "a first field that is folded": b"GET /healthz HTTP/1.1\r\n Host: a\r\nHost: a\r\n\r\n",
    "a line without a colon": b"GET /healthz HTTP/1.1\r\nHost: a\r\nXY\r\n\r\n",
}


def statuses_of(answer):
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", answer)]


def exchange(api, request, expected=None):
    """Sends a request. Returns the statuses that came back, and whether the server closed the connection. Waits for its end, or
    until `expected` answers have come."""
    def send():
        with api.connect() as connection:
            answer, is_closed = b"", False
            try:
                connection.sendall(request)
                while len(statuses_of(answer)) != expected:
                    part = connection.recv(65_536)
                    if not part:
                        is_closed = True
                        break
                    answer += part
                if not is_closed:
                    # Nothing more may come.
                    connection.settimeout(0.2)
                    more = connection.recv(65_536)
                    answer, is_closed = answer + more, not more
            except ConnectionError:
                is_closed = True
            except TimeoutError:
                pass
            return statuses_of(answer), is_closed

    # A connection that is not refused is closed after one on which nothing comes.
    return beside(lambda: [api.connect()], send)


@pytest.mark.parametrize("name", HOSTILE)
def test_refuses_and_closes(shared, name):
    statuses, is_closed = exchange(shared, HOSTILE[name])
    # The library writes the header of its own refusals twice.
    assert set(statuses) <= {400, 411} and is_closed, (statuses, is_closed)


def test_keeps_a_connection(shared):
    with shared.connect() as connection:
        for _ in range(3):
            connection.sendall(SECOND)
            assert b'"isWell":true' in receive(connection)


def test_reads_what_is_only_unusual(shared):
    for more in [b"X:y", b"X:", b"X: ", b"X: \t y", b"X: y ", b"X: y\t ", b"X: " + b"y" * 9_000, b"Cookie: a=b; c=d"]:
        request = b"GET /healthz HTTP/1.1\r\nHost: a\r\n" + more + b"\r\nY: z\r\n\r\n"
        for pieces in [[request], [request[i:i + 1_000] for i in range(0, len(request), 1_000)], [b"\r\n" + request]]:
            with shared.connect() as connection:
                for piece in [*pieces, SECOND]:
                    connection.sendall(piece)
                assert [b"200 OK" in receive(connection) for _ in range(2)] == [True] * 2, more


def test_answers_requests_that_were_sent_together(shared):
    statuses, _ = exchange(shared, SECOND * 5, expected=5)
    assert statuses == [200] * 5


def receive(connection):
    """One answer with its body."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(1)
    length = int(re.search(rb"Content-Length: (\d+)", answer)[1])
    while length > 0:
        part = connection.recv(length)
        answer, length = answer + part, length - len(part)
    return answer


TWICE = [
    ('{"change":"cancel","filter":{},"change":"retry"}', "/change"),
    ('{"change":"cancel","filter":{"batch":1,"id":[{"a":1}],"batch":2}}', "/filter/batch"),
    ('{"change":"cancel","filter":{"ba\\u0074ch":1,"batch":2}}', "/filter/batch"),
    ('{"change":"cancel","filter":{},"~/":[0,{"x":1,"x":2}]}', "/~0~1/1/x"),
]


@pytest.mark.parametrize(("body", "pointer"), TWICE)
def test_refuses_what_an_object_names_twice(api, body, pointer):
    answer = api.ask("POST", "/api/v1/changes", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400, answer.text
    assert answer.json()["errors"] == [{"pointer": pointer, "detail": "is given twice"}]


def test_refuses_what_a_line_names_twice(api):
    lines = '{"source":"in:a.wav","output":"out:a.mp3"}\n{"source":"in:b.wav","output":"out:b.mp3","source":"in:c.wav"}\n'
    answer = api.ask("POST", "/api/v1/batches", content=lines, headers={"Content-Type": "application/x-ndjson"})
    assert answer.status_code == 400 and "line 2" in answer.json()["detail"], answer.text
    assert answer.json()["errors"] == [{"pointer": "/source", "detail": "is given twice"}]
    assert api.get("/api/v1/batches")["batches"] == []


def test_names_of_outputs_that_are_too_long_are_refused(api):
    job = {"source": "in:" + "n" * 300 + ".wav", "output": "out:" + "n" * 300 + ".mp3"}
    answer = api.post("/api/v1/batches", {"jobs": [job]})
    assert answer.status_code == 400 and "304 bytes" in answer.text and "/outputs/0" in answer.text, answer.text


def test_keys_and_names_have_the_bounds_of_the_command(api):
    job = {"source": "in:a.wav", "output": "out:a.mp3"}
    for headers, more in [({"Idempotency-Key": "k" * 1001}, {}), ({}, {"name": "n" * 201}), ({}, {"queue": "a b"})]:
        answer = api.post("/api/v1/batches", {"jobs": [job], **more}, headers=headers)
        assert answer.status_code == 400, answer.text
    change = {"change": "retry", "filter": {}, "onDamage": "conceal"}
    assert api.post("/api/v1/changes", {**change, "concealLimit": 0}).status_code == 400
    assert api.post("/api/v1/changes", {**change, "concealLimit": 31 * 86_400, "preview": True}).status_code == 200


def test_refuses_a_header_that_is_too_long(shared):
    statuses, is_closed = exchange(shared, b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 100_000 + b"\r\n\r\n")
    assert is_closed and 200 not in statuses


def test_refuses_a_body_that_is_too_long_before_it_comes(api):
    request = (
        b"POST /api/v1/batches HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: "
        + str(9 << 20).encode() + b"\r\n\r\n"
    )
    statuses, is_closed = exchange(api, request)
    assert statuses == [413] and is_closed


def test_bounds_the_memory_of_all_bodies_together(separate):
    before, size = separate.resident(), 8 << 20
    head = f"POST /api/v1/batches HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    connections = [separate.connect() for _ in range(20)]
    for connection in connections:
        connection.sendall(head.encode())
    assert separate.client.get("/healthz").status_code == 200
    for connection in connections:
        try:
            # All but the last byte, so that the body is kept.
            connection.sendall(b" " * (size - 1))
        except ConnectionError:
            pass  # cut, because it is one too many
    assert separate.client.get("/healthz").status_code == 200
    assert separate.resident() - before < 100 << 20
    for connection in connections:
        connection.close()


@pytest.mark.process
def test_cuts_clients_that_send_too_slowly(shared):
    """A byte now and then keeps a connection busy, but not for ever. Meanwhile others are served."""
    slow = [shared.connect() for _ in range(50)]
    for connection in slow:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: ")
    start = time.monotonic()
    open_ones = list(slow)
    while open_ones:
        # One that is not cut stays for ever.
        assert time.monotonic() - start < PATIENCE, f"{len(open_ones)} are still served"
        assert shared.client.get("/healthz").status_code == 200
        for connection in list(open_ones):
            try:
                connection.sendall(b"y")
                connection.settimeout(0.01)
                if connection.recv(100) == b"":
                    open_ones.remove(connection)
            except TimeoutError:
                pass
            except ConnectionError:
                open_ones.remove(connection)
        # The pace of the attack.
        time.sleep(1)
    assert time.monotonic() - start > 20


def test_serves_beside_thousands_of_idle_connections(separate):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    statuses = beside(
        lambda: [socket.create_connection(("127.0.0.1", separate.port)) for _ in range(3_000)],
        # A server that looks at each connection for each request would take minutes.
        lambda: {separate.client.get("/healthz").status_code for _ in range(20)}
    )
    assert statuses == {200}


def test_serves_many_at_once(shared):
    failures = []

    def work():
        try:
            with shared.connect() as connection:
                for _ in range(50):
                    connection.sendall(b"GET /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    assert b"200 OK" in receive(connection)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
