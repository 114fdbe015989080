"""A receiver of webhooks that checks what it gets, and misbehaves as told."""

import base64
import hashlib
import hmac
import http.server
import json
import threading
import time

from terminal import PATIENCE


def check(secret, headers, body):
    """Independent of the code under test and of docs/webhooks.md."""
    key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    assert len(key) == 32
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    wanted = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert hmac.compare_digest(headers["webhook-signature"], wanted)
    assert abs(time.time() - int(headers["webhook-timestamp"])) < 60
    assert headers["content-type"] == "application/json" and "transfer-encoding" not in headers


class Receiver:
    """Answers `POST /PATH` as `answers[PATH]` says: a list of statuses of which the last one stays, or a function."""

    def __init__(self):
        self.answers = {}
        self.requests = []
        self.news = threading.Condition()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                with receiver.news:
                    receiver.requests.append((self.path, headers, body))
                    receiver.news.notify_all()
                    answer = receiver.answers.get(self.path, [200])
                    if not callable(answer):
                        status = answer.pop(0) if len(answer) > 1 else answer[0]
                if callable(answer):
                    return answer(self)
                self.reply(status)

            do_GET = do_POST

            def reply(self, status, **headers):
                self.send_response(status)
                for name, value in {"content-length": "0", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                # A client that was killed has closed the connection.
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.port}{path}"

    def got(self, path="/"):
        """The requests that came to a path, each with its headers and its event."""
        with self.news:
            return [(headers, body, json.loads(body)) for found, headers, body in self.requests if found == path]

    def wait(self, count, path="/", within=PATIENCE):
        """Waits for requests to a path, and returns the first ones."""
        with self.news:
            self.news.wait_for(lambda: sum(found == path for found, *_ in self.requests) >= count, within)
        found = self.got(path)
        assert len(found) >= count, found
        return found[:count]

    def events(self, path="/"):
        return [event["type"] for _, _, event in self.got(path)]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
