"""Behind the proxies of docs/api.md: hostile requests disturb no other caller, and everything works as without them."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time

import httpx
import pytest

from coordinators import Coordinator
from terminal import HOUSE, PATIENCE, free_port
from test_events import Stream
from test_operations import jobs, lines
from test_requests import HOSTILE, SECOND

pytestmark = pytest.mark.process

PAGE = (HOUSE / "docs/api.md").read_text()
CODES = ["truncated", "corrupt_stream", "output_exists", "source_missing", "unexpected"]


class Proxy:
    """A proxy with the configuration of docs/api.md, without TLS, before one coordinator or three."""

    def __init__(self, name, ports, folder):
        self.port = free_port()
        text, *more = re.findall(rf"```{name}\n(.*?)```", PAGE, re.DOTALL)
        if len(ports) > 1:
            text = more[0] + text.replace("http://127.0.0.1:8080", "http://sluice")
        for number, port in enumerate(ports):
            assert f"127.0.0.1:{8080 + number}" in text
            text = text.replace(f"127.0.0.1:{8080 + number}", f"127.0.0.1:{port}")
        if name == "nginx":
            text = re.sub(r"listen .*", f"listen 127.0.0.1:{self.port};", re.sub(r" *ssl_.*\n", "", text))
            whole = f"daemon off; pid {folder}/pid; error_log {folder}/errors; events {{}}\nhttp {{\n"
            whole += "".join(
                f"{kind}_temp_path {folder}/{kind};\n" for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            )
            (folder / "nginx.conf").write_text(f"user root;\n{whole} access_log {folder}/log;\n{text}\n}}\n")
            words = ["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder), "-e", str(folder / "errors")]
        elif name == "haproxy":
            text = re.sub(r"bind .*", f"bind 127.0.0.1:{self.port}", text)
            (folder / "haproxy.cfg").write_text(text)
            words = ["haproxy", "-db", "-f", str(folder / "haproxy.cfg")]
        else:
            text = text.replace("sluice.example.org", f"http://127.0.0.1:{self.port}")
            (folder / "Caddyfile").write_text("{\n    admin off\n}\n" + text)
            words = ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
        program = shutil.which(words[0], path="/usr/sbin:/usr/bin")
        assert program, f"no {words[0]}; run scripts/prepare test"
        with open(folder / "proxy.log", "wb") as log:
            self.process = subprocess.Popen(
                [program, *words[1:]], stdout=log, stderr=log, env={"HOME": str(folder), "PATH": "/usr/bin"}
            )
        end = time.monotonic() + PATIENCE
        while True:
            try:
                self.connect().close()
                break
            except OSError:
                assert time.monotonic() < end and self.process.poll() is None, (folder / "proxy.log").read_text()
                # It gives no notice when it listens.
                time.sleep(0.05)
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=PATIENCE)

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.settimeout(PATIENCE)
        return connection

    def stop(self):
        self.client.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)


@pytest.fixture
def api(ledger):
    (ledger.folder / "in").mkdir()
    words = ["--root", f"in={ledger.folder}/in", "--uploads", "in"]
    with Coordinator(ledger, "--open-role", "submitter", *words) as api:
        yield api


@pytest.fixture(params=["nginx", "caddy", "haproxy"])
def proxy(request, api, tmp_path_factory):
    proxy = Proxy(request.param, [api.port], pathlib.Path(tmp_path_factory.mktemp(request.param)))
    yield proxy
    proxy.stop()


def test_no_caller_gets_the_answer_to_anothers_request(proxy):
    for name, hostile in HOSTILE.items():
        with proxy.connect() as connection:
            connection.settimeout(0.2)
            try:
                connection.sendall(hostile)
                while connection.recv(65_536):
                    pass
            except OSError:
                pass
        # The proxy may use the same connection to the coordinator for these.
        for code in CODES:
            answer = proxy.client.get(f"/api/v1/codes/{code}")
            assert answer.status_code in [200, 404], (name, answer.text)
            assert code in answer.text, (name, answer.text)


HOST = b" HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BODY = b"Content-Length: %d\r\n" % len(SECOND)
UPLOAD = b"PUT /api/v1/files/in/desync/%s" + HOST
JSON = b"Content-Type: application/json\r\n"

# A server that reads a body as the next request, or the next request as a body, gives callers behind the same proxy the
# answers to other callers. In these, one of two may: the answer comes before the body, the body does not come, or the length is for one
# connection only. The parts of a request are sent one after the other, each when something has been answered or nothing comes.
DESYNCHRONISING = {
    "an early refusal": [b"POST /api/v1/batches" + HOST + BODY + b"\r\n", SECOND],
    "an early refusal of a type": [b"POST /api/v1/batches" + HOST + b"Content-Type: text/plain\r\n" + BODY + b"\r\n" + SECOND],
    "an early refusal of a large body": [
        b"POST /api/v1/batches" + HOST + JSON + b"Content-Length: 9000000\r\n\r\n", SECOND * 1_000
    ],
    "a path that there is not": [b"POST /nowhere" + HOST + BODY + b"\r\n", SECOND],
    "an upload that is refused": [UPLOAD % b"..%2f.." + BODY + b"\r\n", SECOND],
    "an expectation": [UPLOAD % b"a" + b"Expect: 100-continue\r\n" + BODY + b"\r\n", SECOND],
    "an expectation that is not awaited": [UPLOAD % b"b" + b"Expect: 100-continue\r\n" + BODY + b"\r\n" + SECOND],
    "an expectation of a refused body": [
        b"POST /api/v1/batches" + HOST + b"Expect: 100-continue\r\nContent-Length: 9000000\r\n\r\n", SECOND
    ],
    "an expectation without its body": [UPLOAD % b"c" + b"Expect: 100-continue\r\n" + BODY + b"\r\n"],
    "an expectation of nothing": [b"GET /healthz" + HOST + b"Expect: 100-continue\r\n\r\n", SECOND],
    "an expectation of something else": [UPLOAD % b"d" + b"Expect: y 100-continue\r\n" + BODY + b"\r\n", SECOND],
    "two expectations": [UPLOAD % b"e" + b"Expect: x\r\nExpect: 100-continue\r\n" + BODY + b"\r\n", SECOND],
    "a body of GET": [b"GET /healthz" + HOST + BODY + b"\r\n" + SECOND],
    "a body of HEAD": [b"HEAD /healthz" + HOST + BODY + b"\r\n" + SECOND],
    "a body of DELETE": [b"DELETE /api/v1/webhooks/1" + HOST + BODY + b"\r\n" + SECOND],
    "a body of OPTIONS": [b"OPTIONS *" + HOST + BODY + b"\r\n" + SECOND],
    "a body of TRACE": [b"TRACE /healthz" + HOST + BODY + b"\r\n" + SECOND],
    "a tunnel": [b"CONNECT 127.0.0.1:1" + HOST + b"\r\n", SECOND],
    "a body in chunks": [
        UPLOAD % b"f" + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(SECOND), SECOND)
    ],
    "a length in a trailer": [
        UPLOAD % b"g" + b"Trailer: Content-Length\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nContent-Length: 9\r\n\r\n"
    ],
    "a length for one connection": [UPLOAD % b"h" + b"Connection: Content-Length\r\n" + BODY + b"\r\n" + SECOND],
    "a host for one connection": [b"GET /healthz" + HOST + b"Connection: Host, Authorization\r\n\r\n"],
    "a length with an underscore": [b"POST /healthz" + HOST + b"Content_Length: 9\r\n" + BODY + b"\r\n" + SECOND],
    "a length of 65 bits": [b"POST /healthz" + HOST + b"Content-Length: %d\r\n\r\n" % (2**64 + len(SECOND)) + SECOND],
    "a body that ends early": [UPLOAD % b"i" + b"Content-Length: 100\r\n\r\n" + SECOND],
    "another protocol": [
        b"GET /healthz" + HOST + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SECOND,
    ],
    "a socket of the web": [
        b"GET /api/v1/events" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", SECOND,
    ],
    "half a request": [SECOND + b"GET /healthz" + HOST + b"X: "],
}


# What follows these is a request of its own.
WITHOUT_BODY = {"an expectation of nothing", "another protocol", "a socket of the web", "a tunnel"}
# What follows these is theirs.
UNFINISHED = {"an expectation without its body", "a body that ends early", "half a request"}


def send(connection, parts, quiet=0.1):
    """Sends the parts of a request. Returns what was answered to each, until nothing came for `quiet` seconds."""
    connection.settimeout(quiet)
    answer = b""
    for part in parts:
        try:
            connection.sendall(part)
            while more := connection.recv(65_536):
                answer += more
        except OSError:
            # Nothing more comes, or the connection is cut.
            continue
    return answer


def test_no_caller_is_answered_in_anothers_place(proxy):
    for name, parts in DESYNCHRONISING.items():
        with proxy.connect() as connection:
            send(connection, parts)
            # While that connection is open, and after it.
            for code in CODES[:2]:
                assert code in proxy.client.get(f"/api/v1/codes/{code}").text, name
        for code in CODES:
            answer = proxy.client.get(f"/api/v1/codes/{code}")
            assert answer.status_code in [200, 404] and code in answer.text, (name, answer.text)


def test_no_body_is_a_request_and_no_request_a_body(api):
    """What a proxy sees that uses the connection again: only answers to what it has sent, or its end."""
    for name, parts in DESYNCHRONISING.items():
        if name in UNFINISHED:
            continue
        # On a busy machine, an answer that comes later than expected would count as one to the last request.
        for quiet in [0.1, 1, 10]:
            with api.connect() as connection:
                before = send(connection, parts, quiet)
                after = send(connection, [b"GET /api/v1/codes/truncated" + HOST + b"\r\n"], quiet)
            is_in_place = after == b"" or after.count(b"HTTP/1.1 ") == 1 and b"truncated" in after
            if is_in_place:
                break
        bodies = before.count(b'"isWell":true')
        assert bodies <= (b"GET /healthz" in parts[0]) + (name in WITHOUT_BODY), (name, before)
        assert is_in_place, (name, before, after)


def test_works_as_without(proxy, api):
    answer = proxy.client.post(
        "/api/v1/batches", content=lines(jobs(3_000)), headers={"content-type": "application/x-ndjson"}
    )
    assert answer.status_code == 201 and answer.json()["jobCount"] == 3_000
    proxied = type("Place", (), {"port": proxy.port})
    stream = Stream(proxied, f"batch={answer.json()['batch']}")
    assert stream.next()[1]["jobs"]["waiting"] == 3_000
    api.post("/api/v1/changes", {"change": "cancel", "filter": {}})
    stream.until(lambda value: value["isDone"])
    stream.close()
    assert json.loads(proxy.client.get("/readyz").text)["isWell"]


def test_passes_files_through(proxy, ledger):
    content = os.urandom(5_000_000)
    for status in [201, 200]:
        assert proxy.client.put("/api/v1/files/in/a%20b/c.wav", content=content).status_code == status
    assert (ledger.folder / "in/a b/c.wav").read_bytes() == content
    refused = proxy.client.put("/api/v1/files/in/a%20b/c.wav", content=content[:-1])
    assert (refused.status_code, refused.json()["code"]) == (409, "file_exists")
    for path in ["..%2f..%2fetc%2fx", "a/%2e%2e/%2e%2e/x", "%2fetc%2fx"]:
        request = f"PUT /api/v1/files/in/{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx"
        with proxy.connect() as connection:
            connection.sendall(request.encode())
            assert connection.recv(65_536).split()[1] in [b"400", b"404", b"308"], path
    assert [path.name for path in (ledger.folder / "in").rglob("*") if path.is_file()] == ["c.wav"]
    with proxy.connect() as connection:
        connection.sendall(b"PUT /api/v1/files/in/half HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 500_000)
    assert proxy.client.put("/api/v1/files/in/half", content=b"whole").status_code == 201
    assert (ledger.folder / "in/half").read_bytes() == b"whole"
