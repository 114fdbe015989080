"""Coordinators that serve HTTP, and a client that checks every answer against the description of the API."""

import atexit
import json
import os
import re
import select
import signal
import socket
import subprocess
import time

import httpx
import jsonschema

from terminal import PATIENCE, SLUICE, environment

TEST_PROGRAM = SLUICE.with_name("test-program")


def takes_less_than(seconds, act):
    """Does it again when it has taken longer, because a busy machine may have been the reason, five times at most."""
    times = []
    while not times or times[-1] >= seconds:
        assert len(times) < 5, times
        times.append(act(len(times)))


def is_cut(connection):
    """Whether the server has closed a connection, or has sent something."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


def beside(begin, act):
    """Does something beside the connections that `begin` makes, and returns what came of it. The server cuts connections on which
    nothing comes after half a minute: if a busy machine took as long, does it again, five times at most."""
    for _ in range(5):
        held = begin()
        try:
            value = act()
            if not is_cut(held[-1]):
                return value
        finally:
            for connection in held:
                connection.close()
    raise AssertionError("it was held up until the others were cut")


class SharedProcess:
    """A process in which the coordinators of all tests run that need no process of their own."""

    def __init__(self):
        self.process = None
        self.last = 0

    def order(self, **order):
        if self.process is None:
            self.process = subprocess.Popen(
                [str(TEST_PROGRAM), "coordinators"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            # The process ends when its input does.
            atexit.register(self.process.communicate)
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"the process of the coordinators ended with {self.process.wait(PATIENCE)}"
        return json.loads(answer)

    def start(self, words, variables, log):
        self.last += 1
        answer = self.order(coordinator=self.last, words=words, environment=variables, log=str(log))
        assert "failure" not in answer, answer
        return self.last, answer["addresses"]

    def stop(self, number):
        assert self.order(coordinator=number) == {}


shared_process = SharedProcess()


class Coordinator:
    """A coordinator on a free port of this machine."""

    def __init__(self, ledger, *words, listen="0"):
        self.ledger = ledger
        self.words = ["coordinator", "--listen", listen, *words]
        self.log = ledger.folder / f"coordinator-{os.urandom(4).hex()}.log"
        self.description = None

    def __enter__(self):
        self.start(environment(**self.ledger.variables))
        self.port = next((int(text.rsplit(":", 1)[1]) for text in self.addresses if text[0] != "u"), None)
        if self.port is not None:
            self.url = f"http://127.0.0.1:{self.port}"
            self.client = httpx.Client(base_url=self.url, timeout=PATIENCE)
        return self

    def __exit__(self, *_):
        if self.port is not None:
            self.client.close()
        self.stop()

    def start(self, variables):
        self.number, self.addresses = shared_process.start(self.words, variables, self.log)

    def stop(self):
        shared_process.stop(self.number)

    @property
    def pid(self):
        return shared_process.process.pid

    def said(self):
        return self.log.read_text(errors="replace")

    def open_files(self):
        """What the descriptors of its process refer to."""
        files = []
        for name in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                files.append(os.readlink(f"/proc/{self.pid}/fd/{name}"))
            except OSError:
                pass  # closed meanwhile
        return files

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.settimeout(PATIENCE)
        return connection

    # MARK: - Checked requests

    def ask(self, method, path, **more):
        """Sends a request. The answer must be as the description of the API says."""
        answer = self.client.request(method, path, **more)
        self.check(method, path.partition("?")[0], answer)
        return answer

    def get(self, path, **more):
        answer = self.ask("GET", path, **more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path, value, **more):
        return self.ask("POST", path, json=value, **more)

    def check(self, method, path, answer):
        if self.description is None:
            self.description = self.client.get("/openapi.json").json()
        for pattern, methods in self.description["paths"].items():
            # An answer to HEAD is that to GET, without its body.
            described_method = "get" if method == "HEAD" else method.lower()
            # The path of a file may have slashes.
            expression = re.sub(r"{\w+}", "[^/]+", pattern.replace("{path}", ".+"))
            if re.fullmatch(expression, path) and described_method in methods:
                answers = methods[described_method]["responses"]
                break
        else:
            answers = {}
        described = answers.get(str(answer.status_code), answers.get("default"))
        if described is None:
            assert answer.status_code in [404, 405], f"{method} {path}: {answer.status_code}"
            return
        kind = answer.headers["content-type"]
        if answer.status_code == 304:
            return
        assert kind in described["content"] or "*/*" in described["content"], f"{method} {path}: {kind}"
        # Downloads may be JSON, too: files, which no schema describes.
        if "json" not in kind or kind not in described["content"] or method == "HEAD":
            return
        schema = {**described["content"][kind]["schema"], "components": self.description["components"]}
        jsonschema.Draft202012Validator(schema).validate(answer.json())


class CoordinatorProcess(Coordinator):
    """`sluice coordinator`, for tests of what a process does."""

    def start(self, variables):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [str(SLUICE), *self.words], cwd=self.ledger.folder, env=variables, stdout=log, stderr=log
            )
        end = time.monotonic() + PATIENCE
        while not (found := re.search(r'"listens"', self.said())) and self.process.poll() is None:
            assert time.monotonic() < end, self.said()
            # A log that grows wakes no reader.
            time.sleep(0.02)
        assert found, self.said()
        line = next(line for line in self.said().splitlines() if '"listens"' in line)
        self.addresses = json.loads(line)["addresses"]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0, self.said()

    @property
    def pid(self):
        return self.process.pid

    def resident(self):
        """The memory of the process, in bytes."""
        status = open(f"/proc/{self.pid}/status").read()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) << 10
