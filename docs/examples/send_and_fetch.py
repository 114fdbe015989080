#!/usr/bin/env python3
"""Sends a file, has it converted, and gets the output, all over HTTP.

usage: send_and_fetch.py talk.wav talk.flac

The variables SLUICE_URL (such as http://localhost:8080) and SLUICE_TOKEN (of a submitter) say where and as whom. Sources go
to the root "in" and outputs to the root "out". Needs nothing but Python.
"""

import base64
import hashlib
import json
import os
import pathlib
import shutil
import sys
import urllib.error
import urllib.parse
import urllib.request

URL = os.environ["SLUICE_URL"].rstrip("/")
TOKEN = os.environ["SLUICE_TOKEN"]


def ask(path, body=None, method=None, **fields):
    """Sends a request, and returns the open answer."""
    headers = {"Authorization": f"Bearer {TOKEN}", **{name.replace("_", "-"): text for name, text in fields.items()}}
    try:
        return urllib.request.urlopen(urllib.request.Request(URL + path, body, headers, method=method))
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        sys.exit("\n".join(filter(None, [f"error: {problem['title']}", problem.get("detail"), problem.get("hint")])))


def digest(path):
    """The SHA-256 of a file in base64."""
    with open(path, "rb") as file:
        return base64.b64encode(hashlib.file_digest(file, "sha256").digest()).decode()


def send(path, name):
    """Sends a file. A repetition changes nothing, so it may be done again after a lost answer."""
    with open(path, "rb") as file:
        length = str(os.path.getsize(path))
        fields = {"Content_Length": length, "Content_Type": "application/octet-stream"}
        fields["Content_Digest"] = f"sha-256=:{digest(path)}:"
        return json.load(ask(f"/api/v1/files/in/{urllib.parse.quote(name)}", file, "PUT", **fields))["location"]


def wait(batch):
    """Follows the events of a batch until it is done."""
    for line in ask(f"/api/v1/events?batch={batch}"):
        if line.startswith(b"data: ") and json.loads(line[6:]).get("isDone"):
            return


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
    main()
