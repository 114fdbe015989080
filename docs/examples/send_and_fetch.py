#!/usr/bin/env python3
"""Sends a file, has it converted, and gets the output, all over HTTP.

usage: send_and_fetch.py talk.wav talk.flac

The variables SLUICE_URL (such as http://localhost:8080) and SLUICE_TOKEN (of a submitter) say where and as whom. Sources go
to the root "in" and outputs to the root "out". Needs nothing but Python 3.9 or later.
"""

import base64
import hashlib
import http.client
import json
import os
import pathlib
import shutil
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ["SLUICE_URL"].rstrip("/")
TOKEN = os.environ["SLUICE_TOKEN"]


class Refused(Exception):
    """A problem, as the API tells it; a proxy tells none."""

    def __init__(self, answer):
        is_problem = answer.headers.get_content_type() == "application/problem+json"
        problem = json.load(answer) if is_problem else {"title": f"the status is {answer.code}"}
        super().__init__("\n".join(filter(None, [problem["title"], problem.get("detail"), problem.get("hint")])))
        self.is_passing = answer.code in [502, 503, 504]


def ask(path, body=None, method=None, **fields):
    """Sends a request, and returns the open answer."""
    headers = {"Authorization": f"Bearer {TOKEN}", **{name.replace("_", "-"): text for name, text in fields.items()}}
    try:
        return urllib.request.urlopen(urllib.request.Request(URL + path, body, headers, method=method))
    except urllib.error.HTTPError as error:
        raise Refused(error) from None


def digest(path):
    """The SHA-256 of a file in base64."""
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            found.update(piece)
    return base64.b64encode(found.digest()).decode()


def send(path, name):
    """Sends a file. A repetition changes nothing, so it may be done again after a lost answer."""
    with open(path, "rb") as file:
        length = str(os.path.getsize(path))
        fields = {"Content_Length": length, "Content_Type": "application/octet-stream"}
        fields["Content_Digest"] = f"sha-256=:{digest(path)}:"
        return json.load(ask(f"/api/v1/files/in/{urllib.parse.quote(name)}", file, "PUT", **fields))["location"]


def wait(batch):
    """Follows the events of a batch until it is done. A stream that ends says nothing: a coordinator may have been
    restarted, and the next stream begins with the state as it is by then."""
    while True:
        try:
            for line in ask(f"/api/v1/events?batch={batch}"):
                if line.startswith(b"data: ") and json.loads(line[6:]).get("isDone"):
                    return
        except (OSError, http.client.HTTPException, Refused) as error:
            if not getattr(error, "is_passing", True):
                raise
            print(f"the events broke off ({error}); trying again", file=sys.stderr)
        time.sleep(1)


def fetch(job, path):
    """Gets the first output of a job. What arrived must have the digest that the ledger knows."""
    part = f"{path}.part"
    with ask(f"/api/v1/jobs/{job}/outputs/1") as answer, open(part, "wb") as file:
        shutil.copyfileobj(answer, file)
        wanted = answer.headers["Repr-Digest"]
    if wanted != f"sha-256=:{digest(part)}:":
        sys.exit("error: the output did not arrive whole")
    os.replace(part, path)


def main():
    source, output = sys.argv[1:]
    # The digest in the name keeps files of the same name apart.
    stem = hashlib.sha256(digest(source).encode()).hexdigest()[:16]
    location = send(source, f"{stem}/{pathlib.Path(source).name}")
    jobs = [{"source": location, "output": f"out:{stem}/{pathlib.Path(output).name}", "onConflict": "replace"}]
    body = json.dumps({"jobs": jobs}).encode()
    receipt = json.load(ask("/api/v1/batches", body, Content_Type="application/json"))
    wait(receipt["batch"])
    job = json.load(ask(f"/api/v1/jobs/{receipt['firstJob']}"))
    if job["state"] != "completed":
        sys.exit(f"error: {job['source']}: {job.get('code')} at {job.get('stage')}")
    fetch(job["id"], output)
    print(f"job {job['id']}: {output}")


if __name__ == "__main__":
    try:
        main()
    except Refused as refused:
        sys.exit(f"error: {refused}")
