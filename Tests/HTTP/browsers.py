"""Chromium, which a test steers by its DevTools protocol."""

import json
import os
import select
import subprocess
import time

from terminal import PATIENCE


class Browser:
    """A browser without a window. Pages of the test are served at addresses of the origin that they belong to, without any
    server knowing of it."""

    def __init__(self, folder):
        # As root it cannot have its sandbox; it opens only what the test gives to it.
        words = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
        words += ["--remote-debugging-pipe", f"--user-data-dir={folder}/profile", "about:blank"]
        # It reads commands from descriptor 3, and writes answers to 4.
        commands, self.commands = os.pipe()
        self.answers, answers = os.pipe()
        script = f'exec 3<&{commands} 4>&{answers}; exec "$@"'
        with open(folder / "chromium.log", "wb") as log:
            self.process = subprocess.Popen(
                ["bash", "-c", script, "bash", *words], pass_fds=[commands, answers], stdout=log, stderr=log,
                # Names of files that it is given are UTF-8.
                env={"HOME": str(folder), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            )
        os.close(commands)
        os.close(answers)
        self.rest = b""
        self.count = 0
        self.pages = {}
        [target] = [t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        self.session = self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        self.ask("Fetch.enable", patterns=[{"urlPattern": "*/the-page-of-the-test"}])
        self.ask("Page.enable")
        # Without a window there is no focus, and fields would not be told of theirs.
        self.ask("Emulation.setFocusEmulationEnabled", enabled=True)

    def stop(self):
        self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self.commands)
        os.close(self.answers)

    def message(self):
        end = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.answers], [], [], max(0, end - time.monotonic()))
            part = os.read(self.answers, 1 << 20) if ready else b""
            assert part, "the browser says nothing"
            self.rest += part
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def send(self, method, parameters):
        self.count += 1
        message = {"id": self.count, "method": method, "params": parameters}
        if session := getattr(self, "session", None):
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        return self.count

    def ask(self, method, **parameters):
        """Sends a command and returns its answer. Serves the page meanwhile."""
        number = self.send(method, parameters)
        while (message := self.message()).get("id") != number:
            if message.get("method") == "Fetch.requestPaused":
                head = [{"name": "content-type", "value": "text/html"}]
                self.send(
                    "Fetch.fulfillRequest",
                    {"requestId": message["params"]["requestId"], "responseCode": 200, "responseHeaders": head, "body": ""},
                )
        assert "error" not in message, message
        return message["result"]

    def open(self, origin):
        """Opens an empty page of this origin."""
        self.ask("Page.navigate", url=f"{origin}/the-page-of-the-test")
        self.run("new Promise(go => document.readyState == 'complete' ? go() : addEventListener('load', go)).then(() => 1)")
        assert self.run("document.location.origin") == origin

    def run(self, script):
        """The value of an expression, or of the promise that it is."""
        return self.evaluate(script, awaitPromise=True, returnByValue=True).get("value")

    def evaluate(self, script, **how):
        done = self.ask("Runtime.evaluate", expression=script, **how)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"]

    def choose(self, file, field="input"):
        """Chooses a file in the first field that this selector finds, as a person does."""
        # By the object: numbers of nodes end when the document that was asked for them has been read to its end.
        found = self.evaluate(f"document.querySelector('{field}')")["objectId"]
        self.ask("DOM.setFileInputFiles", objectId=found, files=[str(file)])
