"""Coordinators that serve HTTP, and a client that checks every answer against the description of the API."""

import json
import os
import re
import signal
import socket
import subprocess
import time

import httpx
import jsonschema

from terminal import PATIENCE, SLUICE, environment


class Coordinator:
    """`sluice coordinator` on a free port of this machine."""

    def __init__(self, ledger, *words, listen="0"):
        self.ledger = ledger
        self.words = ["coordinator", "--listen", listen, *words]
        self.log = ledger.folder / f"coordinator-{os.urandom(4).hex()}.log"
        self.description = None

    def __enter__(self):
        variables = environment(**self.ledger.variables)
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
        self.port = next((int(text.rsplit(":", 1)[1]) for text in self.addresses if text[0] != "u"), None)
        if self.port is not None:
            self.url = f"http://127.0.0.1:{self.port}"
            self.client = httpx.Client(base_url=self.url, timeout=PATIENCE)
        return self

    def __exit__(self, *_):
        if self.port is not None:
            self.client.close()
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(PATIENCE) == 0, self.said()

    def said(self):
        return self.log.read_text(errors="replace")

    def open_files(self):
        """What the coordinator's descriptors refer to."""
        files = []
        for name in os.listdir(f"/proc/{self.process.pid}/fd"):
            try:
                files.append(os.readlink(f"/proc/{self.process.pid}/fd/{name}"))
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
        if "json" not in kind or method == "HEAD":
            return
        schema = {**described["content"][kind]["schema"], "components": self.description["components"]}
        jsonschema.Draft202012Validator(schema).validate(answer.json())
