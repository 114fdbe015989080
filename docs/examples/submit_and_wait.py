#!/usr/bin/env python3
"""Submits the files that it is given, waits until they are converted, and says what failed.

usage: submit_and_wait.py in:talk.wav=out:talk.flac ...

The variables SLUICE_URL (such as http://localhost:8080) and SLUICE_TOKEN (of a submitter) say where and as whom. Needs
nothing but Python.
"""

import hashlib
import json
import os
import sys
import urllib.error
import urllib.request

URL = os.environ["SLUICE_URL"].rstrip("/")
TOKEN = os.environ["SLUICE_TOKEN"]


def ask(path, value=None, **fields):
    """Sends a request, with a value as JSON if there is one, and returns the open answer."""
    headers = {"Authorization": f"Bearer {TOKEN}", **{name.replace("_", "-"): text for name, text in fields.items()}}
    body = None
    if value is not None:
        headers["Content-Type"] = "application/json"
        body = json.dumps(value).encode()
    try:
        return urllib.request.urlopen(urllib.request.Request(URL + path, body, headers))
    except urllib.error.HTTPError as error:
        problem = json.load(error)
        detail = [problem.get("detail")] + [f"{one['pointer']} {one['detail']}" for one in problem.get("errors", [])]
        sys.exit("\n".join([f"error: {problem['title']}", *filter(None, detail), problem.get("hint", "")]))


def batches(events):
    """The batches that a stream of events tells of."""
    for line in events:
        if line.startswith(b"data: "):
            value = json.loads(line[6:])
            if "isDone" in value:
                yield value


def main():
    pairs = [word.split("=", 1) for word in sys.argv[1:]]
    jobs = [{"source": source, "output": output} for source, output in pairs]
    # The same files give the same key, so a repetition after a lost answer submits nothing twice.
    key = hashlib.sha256(json.dumps(jobs).encode()).hexdigest()
    batch = json.load(ask("/api/v1/batches", {"jobs": jobs}, Idempotency_Key=key))["batch"]
    for state in batches(ask(f"/api/v1/events?batch={batch}")):
        counts = {name: count for name, count in state["jobs"].items() if count}
        print(f"batch {batch}: {counts}")
        if state["isDone"]:
            break
    failed = json.load(ask(f"/api/v1/jobs?batch={batch}&state=failed&limit=1000"))["jobs"]
    for job in failed:
        print(f"{job['source']}: {job['code']} at {job['stage']}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
