"""A server in front of a coordinator that notes the requests, and treats streams of events as a test wants."""

import contextlib
import socket
import threading
import time

from terminal import PATIENCE

STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


class Relay:
    """Each connection carries one request. `streams` are called in turn for requests of events, with the client's
    connection, the coordinator's, and the request; the last one for all further ones."""

    def __init__(self, api, *streams):
        self.api = api
        self.streams = streams or [pass_on]
        self.heads = []
        self.came = threading.Condition()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[client], daemon=True).start()

    def connect(self):
        if self.api is None:
            raise ConnectionRefusedError
        return socket.create_connection(("127.0.0.1", self.api.port))

    def serve(self, client):
        # While there is no coordinator, the client is cut off.
        with client, contextlib.suppress(OSError), self.connect() as server:
            server.settimeout(PATIENCE)
            text = b""
            while b"\r\n\r\n" not in text:
                piece = client.recv(65_536)
                if not piece:
                    return
                text += piece
            head = text.partition(b"\r\n\r\n")[0]
            length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n")
                           if line.lower().startswith(b"content-length:")), 0)
            while len(text) < len(head) + 4 + length:
                text += client.recv(65_536)
            is_stream = b" /api/v1/events" in head.split(b"\r\n")[0]
            with self.came:
                number = len(self.requests("/api/v1/events"))
                self.heads.append(head.decode())
                self.came.notify_all()
            text = text.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
            if is_stream:
                self.streams[min(number, len(self.streams) - 1)](client, server, text)
            else:
                pass_on(client, server, text)

    def requests(self, path):
        """The heads of the requests so far for paths that begin with this."""
        return [head for head in self.heads if head.split(" ")[1].startswith(path)]

    def wait_for(self, path, count):
        """Waits until there are so many requests for the path."""
        end = time.monotonic() + PATIENCE
        with self.came:
            while len(self.requests(path)) < count:
                assert self.came.wait(end - time.monotonic()), self.heads


def pass_on(client, server, text):
    server.sendall(text)
    while piece := server.recv(65_536):
        client.sendall(piece)


def cut_after_an_event(client, server, text):
    server.sendall(text)
    heard = b""
    # In chunks, the end of an event is followed by that of its chunk.
    while b"\n\n" not in heard.partition(b"\ndata:")[2]:
        piece = server.recv(65_536)
        client.sendall(piece)
        heard += piece


def refuse(client, server, text):
    client.sendall(b"HTTP/1.1 503 Too Many\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def be_silent(client, server, text):
    client.sendall(STREAM)
    while client.recv(1):
        pass


def have_no_end_of_line(client, server, text):
    client.sendall(STREAM + b"data: ")
    while True:
        client.sendall(b"x" * 65_536)


def flood(client, server, text):
    client.sendall(STREAM)
    while True:
        client.sendall(b"event: batch\ndata: {}\n\n" * 3_000)


def be_another_page(client, server, text):
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html>\n\n</html>\n")


def know_no_events(client, server, text):
    client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
