#!/usr/bin/env python3
"""A web server for tests, with faults on demand.

    web_stub.py [PEM]    prints its port, and serves until its standard input ends; with PEM by TLS

`POST /_control` sets, as JSON:

    files   targets, as they are requested, and what they have:
            file        the path of the contents on this machine
            etag        as it is sent; without it none is sent
            modified    the header Last-Modified; without it none is sent
            ranges      false: all of the file is sent, whatever is asked for
            chunked     whether a whole body has chunks instead of a length
            endless     whether a whole body has neither, and ends with the connection
            headers     further ones
            status, location    of a redirect
    faults  a list of {match, do, ...}: the first whose `match` is in "METHOD target" happens `times` times, after it was left
            out `skip` times
            do: status (status, headers), reset, truncate (sends `bytes`, then closes), shift (Content-Range begins one byte
            later), longer (a body with more bytes than Content-Range has), other (another ETag and time, whatever the
            condition), total (another length of the whole)

`GET /_log` returns the requests so far, as {target, host, headers}.
"""

import http.server
import json
import re
import socket
import ssl
import struct
import sys
import threading

LOCK = threading.Lock()
STATE = {"files": {}, "faults": [], "log": []}


def take_fault(line):
    with LOCK:
        for fault in STATE["faults"]:
            if fault["match"] not in line or fault.get("times", 1) < 1:
                continue
            if fault.get("skip", 0) > 0:
                fault["skip"] -= 1
                return None
            fault["times"] = fault.get("times", 1) - 1
            return fault
    return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with LOCK:
            STATE.update(json.loads(body))
        self.answer(200, {}, b"")

    def do_GET(self):
        if self.path == "/_log":
            with LOCK:
                text = json.dumps(STATE["log"])
            return self.answer(200, {}, text.encode())
        with LOCK:
            headers = {name.lower(): value for name, value in self.headers.items()}
            STATE["log"].append({"target": self.path, "host": headers.get("host", ""), "headers": headers})
            entry = STATE["files"].get(self.path)
        fault = take_fault(f"GET {self.path}") or {"do": ""}
        if fault["do"] == "status":
            return self.answer(fault["status"], fault.get("headers") or {}, b"refused")
        if fault["do"] == "reset":
            return self.reset()
        if entry is None:
            return self.answer(404, {}, b"not found")
        if "location" in entry:
            return self.answer(entry.get("status", 302), {"Location": entry["location"]}, b"moved")
        self.send_file(entry, fault)

    def send_file(self, entry, fault):
        with open(entry["file"], "rb") as file:
            contents = file.read()
        headers = dict(entry.get("headers") or {})
        etag, modified = entry.get("etag"), entry.get("modified")
        if fault["do"] == "other":
            etag = etag and etag.replace('"', '"other-', 1)
            modified = modified and "Tue, 02 Jan 2024 00:00:00 GMT"
        elif not self.holds(etag, modified):
            return self.answer(412, headers, b"changed")
        if etag:
            headers["ETag"] = etag
        if modified:
            headers["Last-Modified"] = modified
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not asked or not entry.get("ranges", True):
            return self.send_whole(entry, headers, contents, fault)
        first, last = int(asked[1]), min(int(asked[2]), len(contents) - 1)
        if first >= len(contents):
            return self.answer(416, {"Content-Range": f"bytes */{len(contents)}"}, b"")
        shift = 1 if fault["do"] == "shift" else 0
        total = len(contents) + (1 if fault["do"] == "total" else 0)
        headers["Content-Range"] = f"bytes {first + shift}-{last + shift}/{total + shift}"
        body = contents[first:last + 1] + (b"more" if fault["do"] == "longer" else b"")
        self.answer(206, headers, body, fault.get("bytes") if fault["do"] == "truncate" else None)

    def holds(self, etag, modified):
        wanted = self.headers.get("If-Match")
        if wanted is not None:
            return wanted == etag
        since = self.headers.get("If-Unmodified-Since")
        return since is None or since == modified

    def send_whole(self, entry, headers, contents, fault):
        cut = fault.get("bytes") if fault["do"] == "truncate" else None
        if not entry.get("chunked") and not entry.get("endless"):
            return self.answer(200, headers, contents, cut)
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        if entry.get("endless"):
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(contents[:cut])
            self.close_connection = True
            return
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        size = 100_000
        for start in range(0, len(contents) if cut is None else cut, size):
            piece = contents[start:start + size]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if cut is not None:
            self.close_connection = True
            return
        self.wfile.write(b"0\r\n\r\n")

    def answer(self, status, headers, body, cut=None):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if cut is None else body[:cut])
        if cut is not None:
            self.close_connection = True

    def reset(self):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        """A client that ends early is no error."""


def main():
    server = Server(("127.0.0.1", 0), Handler)
    if len(sys.argv) > 1:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1])
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    main()
