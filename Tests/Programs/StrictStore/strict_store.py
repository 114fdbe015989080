#!/usr/bin/env python3
"""A small object store for tests: strict, and with faults on demand.

    strict_store.py      prints its port, and serves until its standard input ends

It verifies every signature by code of its own, refuses bodies whose SHA-256 differs from the signed one, clocks that
differ by more than 15 minutes, and parts that are too small. `POST /_control` sets, as JSON:

    faults      a list of {match, do, ...}: the first whose `match` is in "METHOD target" happens, `times` times
                do: status (status, code, headers), reset, lose (acts, then resets), truncate (bytes), slow (bytes),
                error_inside (code), etag (a wrong one), whole (all of the object instead of the range), late (resets
                and completes the upload `after` further requests; until then, requests to complete get a conflict)
    conditions  exact, put (PUT only), none, or racy (looks, waits, writes)
    skew        seconds by which its clock is ahead
    region      that it accepts
    smallest    bytes of a part that is not the last
    keys        access keys and their secrets
    denied      a list of texts: requests whose "METHOD target" contains one are denied
    lifecycle   XML
    ignores_prefix  whether it lists all uploads, whatever the prefix is
    equal_parts     whether all parts but the last must have one length
    forgets         what objects lose, a list of: meta, type
    cycle           how many pages a list has before it begins again, without an end; -1 for empty pages without an end
    fill        objects of zeros, as {key: size}, all of one time
    many        how many objects every list has, and none that are stored: the prefix and `00000000.wav` and so on
    sparse      an object of many zeros: {key, size, head}, which begins with the bytes `head`, in hexadecimal digits

`GET /_log` returns the requests so far, `GET /_state` the objects, the uploads, and the number of bytes of objects that
were asked for.
"""

import email.utils
import hashlib
import hmac
import http.server
import json
import re
import socket
import struct
import sys
import threading
import time
import urllib.parse
from datetime import datetime, timezone
from xml.sax.saxutils import escape

SPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'


class Problem(Exception):
    def __init__(self, status, code, message="", headers=None, more=""):
        super().__init__(code)
        self.status, self.code, self.message, self.headers, self.more = status, code, message, headers or {}, more


class Sparse:
    """Bytes that begin with `head`, and are zeros after that."""

    def __init__(self, head, size):
        self.head, self.size = head, size

    def __len__(self):
        return self.size

    def __getitem__(self, places):
        first, end, _ = places.indices(self.size)
        return self.head[first:end].ljust(end - first, b"\0")


class Store:
    def __init__(self):
        self.lock = threading.RLock()
        self.log, self.connections, self.asked = [], 0, 0
        self.clear()

    def clear(self):
        self.objects, self.uploads, self.faults, self.denied = {}, {}, [], []
        self.conditions, self.skew, self.region, self.smallest = "exact", 0, "us-east-1", 5 << 20
        self.keys, self.lifecycle, self.counter, self.tokens = {"KEY": "secret"}, "", 0, {}
        self.ignores_prefix, self.equal_parts, self.forgets, self.cycle = False, False, [], 0
        self.late, self.many = None, 0

    def now(self):
        return time.time() + self.skew

    def fault(self, line):
        with self.lock:
            for fault in self.faults:
                if fault["match"] in line and fault.get("times", 1) > 0:
                    if fault.get("skip", 0) > 0:
                        fault["skip"] -= 1
                        continue
                    fault["times"] = fault.get("times", 1) - 1
                    return fault
        return {}


store = Store()


def quote(text, safe="-._~"):
    return urllib.parse.quote(text, safe=safe)


def mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Without it, every answer of two writes waits for an acknowledgement.
    disable_nagle_algorithm = True
    # Until the first request of a connection.
    is_new = True

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=None, length=None):
        body = body if isinstance(body, (bytes, Sparse)) else body.encode()
        self.send_response_only(status)
        headers = {"Date": email.utils.formatdate(store.now(), usegmt=True), **(headers or {})}
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command == "HEAD":
            return
        cut = self.fault_now.get("bytes") if self.fault_now.get("do") in ("truncate", "slow") else None
        if cut is not None and 200 <= status < 300 and cut < len(body):
            self.wfile.write(body[:cut])
            self.wfile.flush()
            if self.fault_now["do"] == "truncate":
                self.close_connection = True
                return
            # The client is expected to give up while this waits.
            time.sleep(self.fault_now.get("seconds", 60))
            body = body[cut:]
        self.wfile.write(body)

    def reset(self):
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def fail(self, problem):
        if self.command == "HEAD":
            self.answer(problem.status, b"", problem.headers)
            return
        text = (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{problem.code}</Code>'
            f"<Message>{escape(problem.message)}</Message>{problem.more}<RequestId>R1</RequestId></Error>"
        )
        self.answer(problem.status, text, {"Content-Type": "application/xml", **problem.headers})

    # Signatures.

    def credential(self, words, scope_day):
        parts = words.split("/")
        if len(parts) != 5 or parts[3:] != ["s3", "aws4_request"] or parts[1] != scope_day:
            raise Problem(400, "AuthorizationHeaderMalformed", words)
        if parts[2] != store.region:
            more = f"<Region>{store.region}</Region>"
            raise Problem(
                400, "AuthorizationHeaderMalformed", "wrong region", {"x-amz-bucket-region": store.region}, more
            )
        if parts[0] not in store.keys:
            raise Problem(403, "InvalidAccessKeyId", parts[0])
        return parts

    def verify(self, body):
        presigned = self.query.get("X-Amz-Signature")
        if presigned:
            names = self.query["X-Amz-SignedHeaders"].split(";")
            stamp, words = self.query["X-Amz-Date"], self.query["X-Amz-Credential"]
            signature, payload = presigned, "UNSIGNED-PAYLOAD"
        else:
            match = re.fullmatch(
                r"AWS4-HMAC-SHA256 Credential=(\S+?), ?SignedHeaders=(\S+?), ?Signature=([0-9a-f]{64})",
                self.headers.get("Authorization", ""),
            )
            if not match:
                raise Problem(403, "AccessDenied", "no signature")
            words, names, signature = match[1], match[2].split(";"), match[3]
            stamp, payload = self.headers.get("x-amz-date", ""), self.headers.get("x-amz-content-sha256", "")
            if not re.fullmatch("[0-9a-f]{64}", payload):
                raise Problem(400, "InvalidRequest", "the body must be signed")
        when = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc).timestamp()
        if not presigned and abs(when - store.now()) > 900:
            clock = datetime.fromtimestamp(store.now(), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            raise Problem(403, "RequestTimeTooSkewed", "too far", more=f"<ServerTime>{clock}</ServerTime>")
        if presigned and store.now() > when + int(self.query["X-Amz-Expires"]):
            raise Problem(403, "AccessDenied", "Request has expired")
        key, day, region, service, _ = self.credential(words, stamp[:8])
        if names != sorted(names) or "host" not in names:
            raise Problem(403, "AccessDenied", "the signed headers are not sorted, or lack host")
        unsigned = [name for name in self.headers if name.lower().startswith("x-amz-") and name.lower() not in names]
        if unsigned:
            raise Problem(403, "AccessDenied", f"headers that are not signed: {unsigned}")
        pairs = [pair for pair in self.pairs if pair[0] != "X-Amz-Signature"]
        query = "&".join(sorted(f"{quote(name)}={quote(value)}" for name, value in pairs))
        lines = [self.command, quote(urllib.parse.unquote(self.raw_path), "-._~/"), query]
        for name in names:
            values = [" ".join(value.split()) for value in self.headers.get_all(name, [])]
            lines.append(f"{name}:{','.join(values)}")
        lines += ["", ";".join(names), payload]
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        text = "\n".join(["AWS4-HMAC-SHA256", stamp, f"{day}/{region}/{service}/aws4_request", digest])
        secret = ("AWS4" + store.keys[key]).encode()
        for word in (day, region, service, "aws4_request"):
            secret = mac(secret, word)
        if not hmac.compare_digest(mac(secret, text).hex(), signature):
            raise Problem(403, "SignatureDoesNotMatch", "\n".join(lines))
        if not presigned and hashlib.sha256(body).hexdigest() != payload:
            raise Problem(400, "XAmzContentSHA256Mismatch")

    # Requests.

    def handle_request(self):
        target = self.path
        self.fault_now = {}
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            raise ConnectionError("chunked")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if target == "/_control":
            with store.lock:
                for name, value in json.loads(body).items():
                    if name == "clear":
                        store.clear()
                    elif name == "fill":
                        for key, size in value.items():
                            store.objects[key] = {
                                "body": Sparse(b"", size), "etag": '"filled"', "time": 1_700_000_000, "meta": {},
                            }
                    elif name == "sparse":
                        store.objects[value["key"]] = {
                            "body": Sparse(bytes.fromhex(value["head"]), value["size"]), "etag": '"sparse"',
                            "time": time.time(), "meta": {},
                        }
                    else:
                        setattr(store, name, value)
            return self.answer(200)
        if target == "/_log":
            return self.answer(200, json.dumps(store.log))
        if target == "/_state":
            with store.lock:
                objects = {key: len(value["body"]) for key, value in store.objects.items()}
                uploads = {id: value["key"] for id, value in store.uploads.items()}
                counts = {"connections": store.connections, "asked": store.asked}
            return self.answer(200, json.dumps({"objects": objects, "uploads": uploads, **counts}))
        line = f"{self.command} {target}"
        with store.lock:
            store.log.append(line)
            store.connections += self.is_new
        self.is_new = False
        self.finish_late()
        self.fault_now = store.fault(line)
        what = self.fault_now.get("do")
        if what == "reset":
            return self.reset()
        self.raw_path, _, text = target.partition("?")
        self.pairs = urllib.parse.parse_qsl(text, keep_blank_values=True)
        self.query = dict(self.pairs)
        try:
            if what == "status":
                problem = Problem(
                    self.fault_now["status"], self.fault_now.get("code", "Fault"), "on demand",
                    self.fault_now.get("headers"), self.fault_now.get("more", ""),
                )
                raise problem
            self.verify(body)
            if any(text in line for text in store.denied):
                raise Problem(403, "AccessDenied", "Access Denied")
            bucket, _, key = urllib.parse.unquote(self.raw_path[1:]).partition("/")
            if bucket != "bucket":
                raise Problem(404, "NoSuchBucket", bucket)
            self.act(key, body)
        except Problem as problem:
            self.fail(problem)

    def finish_with(self, *answer, **more):
        if self.fault_now.get("do") == "lose":
            self.reset()
        else:
            self.answer(*answer, **more)

    def act(self, key, body):
        if not key:
            return self.act_on_bucket()
        query, method = self.query, self.command
        if method == "POST" and "uploads" in query:
            with store.lock:
                store.counter += 1
                id = f"upload.{store.counter}"
                store.uploads[id] = {"key": key, "parts": {}, "meta": self.metadata(), "begun": store.now()}
            return self.finish_with(200, f"<InitiateMultipartUploadResult {SPACE}><Bucket>bucket</Bucket>"
                                         f"<UploadId>{id}</UploadId></InitiateMultipartUploadResult>")
        if "uploadId" in query:
            return self.act_on_upload(key, query["uploadId"], body)
        if method == "PUT":
            self.write(key, body, self.metadata(), store.conditions in ("exact", "put"))
            etag = '"wrong"' if self.fault_now.get("do") == "etag" else store.objects[key]["etag"]
            return self.finish_with(200, b"", {"ETag": etag})
        if method == "DELETE":
            with store.lock:
                store.objects.pop(key, None)
            return self.finish_with(204)
        return self.read(key)

    def metadata(self):
        kept = ("x-amz-meta-",) * ("meta" not in store.forgets) + ("content-type",) * ("type" not in store.forgets)
        return {name.lower(): value for name, value in self.headers.items() if name.lower().startswith(kept)}

    def check(self, key, is_checked):
        if not is_checked:
            return
        there = store.objects.get(key)
        if self.headers.get("If-None-Match") == "*" and there:
            raise Problem(412, "PreconditionFailed")
        wanted = self.headers.get("If-Match")
        if wanted and not there:
            raise Problem(404, "NoSuchKey")
        if wanted and there["etag"] != wanted:
            raise Problem(412, "PreconditionFailed")

    def write(self, key, body, meta, is_checked, etag=None):
        made = {"body": body, "etag": etag or f'"{hashlib.md5(body).hexdigest()}"', "meta": meta, "time": store.now()}
        if store.conditions == "racy":
            with store.lock:
                self.check(key, True)
            # Long enough for other racers to look as well.
            time.sleep(0.1)
            is_checked = False
        with store.lock:
            self.check(key, is_checked)
            store.objects[key] = made

    def read(self, key):
        with store.lock:
            there = store.objects.get(key)
        if not there:
            raise Problem(404, "NoSuchKey", key)
        wanted = self.headers.get("If-Match")
        etag = '"wrong"' if self.fault_now.get("do") == "etag" else there["etag"]
        if wanted and wanted != there["etag"]:
            raise Problem(412, "PreconditionFailed")
        body = there["body"]
        headers = {
            "ETag": etag, "Last-Modified": email.utils.formatdate(there["time"], usegmt=True),
            "Accept-Ranges": "bytes", **there["meta"],
        }
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        if not match or self.fault_now.get("do") == "whole":
            return self.answer(200, body, headers)
        first, last = int(match[1]), min(int(match[2]), len(body) - 1)
        if first >= len(body):
            raise Problem(416, "InvalidRange", "", {"Content-Range": f"bytes */{len(body)}"})
        headers["Content-Range"] = f"bytes {first}-{last}/{len(body)}"
        with store.lock:
            store.asked += last + 1 - first
        self.answer(206, body[first:last + 1], headers)

    def act_on_upload(self, key, id, body):
        with store.lock:
            upload = store.uploads.get(id)
        if not upload or upload["key"] != key:
            raise Problem(404, "NoSuchUpload", id)
        if self.command == "PUT":
            number = int(self.query["partNumber"])
            if not 1 <= number <= 10000:
                raise Problem(400, "InvalidArgument")
            etag = f'"{hashlib.md5(body).hexdigest()}"'
            with store.lock:
                upload["parts"][number] = (etag, body)
            return self.finish_with(200, b"", {"ETag": etag})
        if self.command == "DELETE":
            with store.lock:
                store.uploads.pop(id, None)
            return self.finish_with(204)
        if self.command == "GET":
            marker = int(self.query.get("part-number-marker", 0))
            numbers = sorted(number for number in upload["parts"] if number > marker)
            page, rest = numbers[:2], numbers[2:]
            parts = "".join(
                f"<Part><PartNumber>{number}</PartNumber><ETag>{escape(upload['parts'][number][0])}</ETag>"
                f"<Size>{len(upload['parts'][number][1])}</Size></Part>" for number in page
            )
            more = f"<NextPartNumberMarker>{page[-1]}</NextPartNumberMarker>" if rest else ""
            return self.answer(200, f"<ListPartsResult {SPACE}><IsTruncated>{'true' if rest else 'false'}</IsTruncated>"
                                    f"{more}{parts}</ListPartsResult>")
        if self.fault_now.get("do") == "error_inside":
            code = self.fault_now.get("code", "InternalError")
            return self.answer(200, f"\n\n<Error><Code>{code}</Code><Message>inside</Message></Error>")
        listed = re.findall(r"<Part><PartNumber>(\d+)</PartNumber><ETag>(.*?)</ETag></Part>", body.decode())
        numbers = [int(number) for number, _ in listed]
        if not numbers or numbers != sorted(set(numbers)):
            raise Problem(400, "InvalidPartOrder")
        whole = b""
        for number, etag in listed:
            part = upload["parts"].get(int(number))
            if not part or part[0] != etag.replace("&quot;", '"'):
                raise Problem(400, "InvalidPart")
            if int(number) != numbers[-1] and len(part[1]) < store.smallest:
                raise Problem(400, "EntityTooSmall")
            whole += part[1]
        lengths = [len(upload["parts"][number][1]) for number in numbers]
        if store.equal_parts and (len(set(lengths[:-1])) > 1 or lengths[-1] > lengths[0]):
            raise Problem(400, "InvalidPart", "All non-trailing parts must have the same length.")
        digests = b"".join(bytes.fromhex(etag.replace("&quot;", "").strip('"')) for _, etag in listed)
        etag = f'"{hashlib.md5(digests).hexdigest()}-{len(numbers)}"'
        with store.lock:
            if store.late:
                raise Problem(409, "ConditionalRequestConflict", "another request is on its way")
            if self.fault_now.get("do") == "late":
                made = {"body": whole, "etag": etag, "meta": upload["meta"], "time": store.now()}
                store.late = {"requests": self.fault_now["after"], "key": key, "upload": id, "object": made}
                return self.reset()
        self.write(key, whole, upload["meta"], store.conditions == "exact", etag)
        with store.lock:
            store.uploads.pop(id, None)
        self.finish_with(200, f"<CompleteMultipartUploadResult {SPACE}><ETag>{escape(etag)}</ETag>"
                              "</CompleteMultipartUploadResult>")

    @staticmethod
    def finish_late():
        with store.lock:
            late = store.late
            if not late:
                return
            late["requests"] -= 1
            if late["requests"] < 0:
                store.objects[late["key"]] = late["object"]
                store.uploads.pop(late["upload"], None)
                store.late = None

    def act_on_bucket(self):
        query = self.query
        if "lifecycle" in query:
            if not store.lifecycle:
                raise Problem(404, "NoSuchLifecycleConfiguration")
            return self.answer(200, store.lifecycle)
        if "uploads" in query and store.cycle:
            following = (int(query.get("key-marker", 0)) + 1) % store.cycle
            return self.answer(200, f"<ListMultipartUploadsResult {SPACE}><IsTruncated>true</IsTruncated>"
                                    f"<NextKeyMarker>{following}</NextKeyMarker></ListMultipartUploadsResult>")
        if "uploads" in query:
            with store.lock:
                uploads = sorted(
                    (value["key"], id, value["begun"]) for id, value in store.uploads.items()
                    if store.ignores_prefix or value["key"].startswith(query.get("prefix", ""))
                )
            start = (query.get("key-marker", ""), query.get("upload-id-marker", ""))
            rest = [upload for upload in uploads if upload[:2] > start]
            page = rest[:2]
            text = "".join(
                f"<Upload><Key>{quote(key)}</Key><UploadId>{id}</UploadId><Initiated>{self.stamp(begun)}</Initiated></Upload>"
                for key, id, begun in page
            )
            more = ""
            if len(rest) > len(page):
                more = f"<NextKeyMarker>{quote(page[-1][0])}</NextKeyMarker><NextUploadIdMarker>{page[-1][1]}</NextUploadIdMarker>"
            return self.answer(200, f"<ListMultipartUploadsResult {SPACE}><EncodingType>url</EncodingType>"
                                    f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>{more}{text}"
                                    "</ListMultipartUploadsResult>")
        if query.get("list-type") != "2":
            raise Problem(501, "NotImplemented", self.path)
        self.list(query)

    @staticmethod
    def stamp(seconds):
        # Lists of some stores have fractions, which no header has.
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.999Z")

    def list(self, query):
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
        token = query.get("continuation-token")
        if store.cycle:
            number = int(token or 0)
            page = f"<Contents><Key>{number}</Key><Size>1</Size></Contents>" if store.cycle > 0 else ""
            following = (number + 1) % store.cycle if store.cycle > 0 else number + 1
            return self.answer(200, f"<ListBucketResult {SPACE}><IsTruncated>true</IsTruncated>{page}"
                                    f"<NextContinuationToken>{following}</NextContinuationToken></ListBucketResult>")
        if store.many:
            first, most = int(token or 0), int(query.get("max-keys", 1000))
            end = min(first + most, store.many)
            text = "".join(
                f"<Contents><Key>{prefix}{number:08}.wav</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified>"
                f"<Size>{number}</Size></Contents>" for number in range(first, end)
            )
            more = f"<NextContinuationToken>{end}</NextContinuationToken>" if end < store.many else ""
            return self.answer(200, f"<ListBucketResult {SPACE}><IsTruncated>{'true' if more else 'false'}</IsTruncated>"
                                    f"{more}{text}</ListBucketResult>")
        if token and token not in store.tokens:
            raise Problem(400, "InvalidArgument", "The continuation token provided is incorrect")
        after = store.tokens[token] if token else query.get("start-after", "")
        most = int(query.get("max-keys", 1000))
        with store.lock:
            keys = sorted((key for key in store.objects if key.startswith(prefix)), key=lambda key: key.encode())
            facts = {key: store.objects[key] for key in keys}
        items, last, is_cut = [], after, False
        for key in keys:
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            shown = key[:cut + len(delimiter)] if cut >= 0 else key
            if key.encode() <= after.encode() or (shown, cut >= 0) in items:
                continue
            if cut >= 0 and after.startswith(shown):
                continue
            if len(items) == most:
                is_cut = True
                break
            items.append((shown, cut >= 0))
            last = key
        more = ""
        if is_cut:
            with store.lock:
                store.counter += 1
                token = f"token+/={store.counter}"
                store.tokens[token] = last
            more = f"<NextContinuationToken>{token}</NextContinuationToken>"
        text = "".join(
            f"<CommonPrefixes><Prefix>{urllib.parse.quote_plus(key)}</Prefix></CommonPrefixes>" if folded else
            f"<Contents><Key>{urllib.parse.quote_plus(key)}</Key><LastModified>{self.stamp(facts[key]['time'])}</LastModified>"
            f"<ETag>{escape(facts[key]['etag'])}</ETag><Size>{len(facts[key]['body'])}</Size></Contents>"
            for key, folded in items
        )
        self.answer(200, f'<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult {SPACE}><EncodingType>url</EncodingType>'
                         f"<IsTruncated>{'true' if is_cut else 'false'}</IsTruncated>{more}{text}</ListBucketResult>")

    def do_any(self):
        try:
            self.handle_request()
        except OSError:
            # The client is gone.
            self.close_connection = True

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_any


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, address):
        pass


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()
