"""Who may ask for what."""

import concurrent.futures
import json
import os
import subprocess
import time

import pytest

from coordinators import Coordinator, takes_less_than
from ledgers import Server
from terminal import PATIENCE, SLUICE, environment
from test_operations import jobs, problem

ROLES = ["viewer", "submitter", "operator"]


@pytest.fixture
def guarded(ledger):
    """A coordinator that serves nobody without a token, and takes and serves files."""
    (ledger.folder / "in").mkdir()
    words = ["--root", f"in={ledger.folder}/in", "--uploads", "in", "--downloads", "in"]
    with Coordinator(ledger, *words) as api:
        yield api


def token(ledger, role, *more, name=None):
    text = ledger.run("tokens", "create", "--role", role, "--name", name or f"{role}-1", *more).strip()
    return {"authorization": f"Bearer {text}"}


def requests(description):
    """A request for each operation, with what it needs to be accepted."""
    bodies = {
        "submitBatch": {"jobs": jobs(1)}, "previewBatch": {"jobs": jobs(1)}, "changeJobs": {"change": "cancel", "filter": {}, "preview": True},
        "beginBulkChange": {"change": "cancel", "filter": {"id": [1]}}, "steerBulkChange": {"wish": "stop"},
        "checkCompatibility": {"description": {"tracks": [{
            "isMain": True, "codec": "flac", "sampleRateHz": 48_000, "channelCount": 2, "isLossless": True,
            "isProtected": False}]}},
        "createWebhook": {"url": "https://example.com/", "own": True},
        "putPreset": {"recipe": {"version": 1, "sources": [{"location": "{source}"}], "outputs": [
            {"location": "{stem}.{ext}", "format": {"container": "flac"}}]}},
        "saveFilter": {"query": "state=failed"}, "findEarlierJobs": {"destinations": ["out:a.flac"]},
        "findEarlierScans": {"sources": ["in:a.flac"]},
        "findMakers": {"outputs": [{"destination": "out:a.flac", "first": "out:a.flac"}]}, "changeQueue": {"weight": 100}, "changeWorker": {"wish": "quiet"},
    }
    values = {
        "job": "1", "batch": "1", "queue": "default", "worker": "1", "code": "truncated", "root": "in", "path": "a.wav",
        "output": "1", "change": "1", "webhook": "1", "preset": "house", "filter": "mine",
    }
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield operation, method.upper(), path.format_map(values), bodies.get(operation["operationId"])


def test_each_role_may_do_what_is_declared_and_nothing_else(ledger, guarded):
    tokens = {role: token(ledger, role) for role in ROLES}
    description = guarded.client.get("/openapi.json").json()
    tried = 0
    for operation, method, path, body in requests(description):
        roles = operation.get("x-roles", [])
        for role in [None, *ROLES]:
            answer = guarded.ask(method, path, json=body, headers=tokens.get(role, {})) if body else guarded.ask(
                method, path, headers=tokens.get(role, {}))
            tried += 1
            where = f"{method} {path} as {role}: {answer.text}"
            if not roles or role in roles:
                # A thing that does not exist is not found by those who may ask for it. A stream needs something to tell.
                # The job of the test has no output yet.
                is_early = answer.status_code == 409 and answer.json()["code"] == "no_output"
                assert answer.status_code in [200, 201, 202, 404] or path.endswith("/events") or is_early, where
            elif role is None:
                assert answer.status_code == 401 and answer.headers["www-authenticate"].startswith("Bearer"), where
            else:
                assert answer.status_code == 403, where
    assert tried > 80
    assert [path.name for path in (ledger.folder / "in").iterdir()] == ["a.wav"]


def test_refuses_tokens_that_are_none(ledger, guarded):
    good = token(ledger, "viewer")
    text = good["authorization"].removeprefix("Bearer ")
    other = text[:10] + ("0" if text[10] != "0" else "1") + text[11:]
    for wrong in ["", "Bearer", "Basic eDp5", f"Bearer {other}", "Bearer slt_", f"Bearer {text} x", f"Bearer {text}0"]:
        problem(guarded.ask("GET", "/api/v1/jobs", headers={"authorization": wrong}), 401, "bad_token")
    assert guarded.get("/api/v1/jobs", headers=good) == {"jobs": []}
    assert text not in guarded.said()


def test_forgets_a_revoked_token_within_seconds(ledger, guarded):
    def revoke(number):
        good = token(ledger, "viewer", name=f"leaver-{number}")
        assert guarded.get("/api/v1/jobs", headers=good) == {"jobs": []}
        ledger.run("tokens", "revoke", f"leaver-{number}")
        start = time.monotonic()
        while guarded.ask("GET", "/api/v1/jobs", headers=good).status_code == 200:
            assert time.monotonic() - start < PATIENCE
            # No event tells when the answer of the last look ends.
            time.sleep(0.2)
        return time.monotonic() - start

    # The promise is five seconds.
    takes_less_than(20, revoke)


def test_a_token_that_ends_ends_what_it_began(ledger, guarded):
    """Streams of events, uploads and submissions that last end with their token, and leave nothing."""
    other = token(ledger, "submitter", name="other")

    def begin(caller, head, body=b""):
        connection = guarded.connect()
        fields = f"Host: 127.0.0.1:{guarded.port}\r\nAuthorization: {caller['authorization']}\r\n"
        connection.sendall(f"{head[0]} HTTP/1.1\r\n{fields}{head[1]}\r\n".encode() + body)
        return connection

    # Otherwise the connection outlives the stream.
    events = ("GET /api/v1/events?queues=true", "Connection: close\r\n")
    upload = ("PUT /api/v1/files/in/late.wav", "Content-Length: 100000\r\n")
    submission = ("POST /api/v1/batches", "Content-Type: application/x-ndjson\r\nContent-Length: 100000\r\n")
    line = (json.dumps(jobs(1)[0]) + "\n").encode()
    stays = begin(other, events)
    read_until(stays, b"event: queue")

    def revoke(number):
        ended = token(ledger, "submitter", name=f"ended-{number}")
        began = [begin(ended, events), begin(ended, upload, b"x" * 1_000), begin(ended, submission, line)]
        read_until(began[0], b"event: queue")
        start = time.monotonic()
        ledger.run("tokens", "revoke", f"ended-{number}")
        for connection in began:
            try:
                while connection.recv(65_536):
                    assert time.monotonic() - start < PATIENCE
            except ConnectionError:
                pass
        return time.monotonic() - start

    # Less than the half minute after which the server ends any body that is so slow.
    takes_less_than(25, revoke)
    assert not list((ledger.folder / "in").iterdir())
    assert guarded.get("/api/v1/jobs", headers=other) == {"jobs": []}
    # That of the other token goes on.
    assert guarded.post("/api/v1/batches", {"queue": "later", "jobs": jobs(1)}, headers=other).status_code == 201
    read_until(stays, b'"queue":"later"')


def read_until(connection, text):
    answer = b""
    while text not in answer:
        part = connection.recv(65_536)
        assert part, answer
        answer += part
    return answer


def test_the_use_of_a_token_is_recorded(ledger):
    def used(name):
        [row] = [json.loads(line) for line in ledger.run("tokens", "--json").splitlines() if f'"{name}"' in line]
        return row.get("usedAt")

    with Coordinator(ledger) as api:
        first, second = token(ledger, "viewer", name="first"), token(ledger, "viewer", name="second")
        assert used("first") is None
        api.client.get("/api/v1/status", headers=first)
        minute = used("first")
        assert minute is not None and used("second") is None
        api.client.get("/api/v1/status", headers=second)
        # As if an hour had passed since. The token is known now, so its use is written some time later, or at the end.
        ledger.query("update sluice.token set used_at = used_at - interval '1 h'")
        api.client.get("/api/v1/status", headers=first)
    assert used("first") >= minute and used("second") < minute


def test_guesses_at_once_are_all_refused(ledger, guarded, server):
    good = token(ledger, "viewer")
    assert guarded.get("/api/v1/jobs", headers=good) == {"jobs": []}
    # Tokens with right checksums, which another ledger knows.
    others = [token(ledger, "viewer", name=f"other-{number}") for number in range(100)]
    ledger.query("delete from sluice.token where name like 'other-%'")
    # Together, so that they share look-ups.
    guarded.get("/openapi.json")
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        told = list(pool.map(lambda other: guarded.ask("GET", "/api/v1/jobs", headers=other).status_code, others))
    assert set(told) == {401}, told
    assert guarded.get("/api/v1/jobs", headers=good) == {"jobs": []}


def test_a_new_token_may_be_used_by_many_at_once(ledger, guarded):
    good = token(ledger, "viewer")
    connections = [guarded.connect() for _ in range(200)]
    for connection in connections:
        fields = f"Host: a\r\nConnection: close\r\nAuthorization: {good['authorization']}"
        connection.sendall(f"GET /api/v1/jobs HTTP/1.1\r\n{fields}\r\n\r\n".encode())
    statuses = []
    for connection in connections:
        with connection, connection.makefile("rb") as answer:
            statuses.append(answer.readline().split()[1])
    assert statuses == [b"200"] * 200


def test_a_tenant_sees_and_changes_its_own_only(ledger, guarded):
    for name in ["acme", "zenith"]:
        ledger.run("tenants", "create", name)
    acme = token(ledger, "submitter", "--tenant", "acme", name="acme-1")
    zenith = token(ledger, "submitter", "--tenant", "zenith", name="zenith-1")
    house = token(ledger, "viewer")
    batch = guarded.post("/api/v1/batches", {"jobs": jobs(3)}, headers=acme).json()
    path = f"/api/v1/batches/{batch['batch']}"
    assert guarded.get(path, headers=acme)["submitter"] == "tenant:acme"
    assert len(guarded.get("/api/v1/jobs", headers=house)["jobs"]) == 3
    problem(guarded.ask("GET", path, headers=zenith), 404, "no_such_thing")
    problem(guarded.ask("GET", f"/api/v1/jobs/{batch['firstJob']}", headers=zenith), 404, "no_such_thing")
    for query in ["", "?state=waiting", "?source=in:", "?sourceContains=wav", f"?batch={batch['batch']}",
                  f"?id={batch['firstJob']}"]:
        assert guarded.get(f"/api/v1/jobs{query}", headers=zenith) == {"jobs": []}, query
    assert guarded.get("/api/v1/batches", headers=zenith) == {"batches": []}
    assert len(guarded.get(f"{path}/jobs", headers=acme)["jobs"]) == 3
    problem(guarded.ask("GET", f"{path}/jobs", headers=zenith), 404, "no_such_thing")
    assert guarded.get("/api/v1/outputs", headers=zenith) == {"outputs": []}
    place = guarded.get(f"/api/v1/jobs/{batch['firstJob']}", headers=acme)["recipe"]["outputs"][0]["location"]
    outputs = {"outputs": [{"destination": place, "first": place}]}
    assert len(guarded.post("/api/v1/makers", outputs, headers=acme).json()["makers"][0]) == 1
    assert guarded.post("/api/v1/makers", outputs, headers=zenith).json() == {"makers": [[]]}
    cancel = {"change": "cancel", "filter": {"id": [batch["firstJob"]]}}
    assert guarded.post("/api/v1/changes", cancel, headers=zenith).json()["changed"] == 0
    assert guarded.post("/api/v1/changes", cancel, headers=acme).json()["changed"] == 1


def test_records_who_changed_what(ledger, guarded):
    boss = token(ledger, "operator", name="boss")
    guarded.post("/api/v1/queues/default", {"isPaused": True}, headers=boss)
    audit = ledger.run("audit", "--json")
    assert '"who":"token:boss"' in audit and "pause_queue" in audit


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_secret_that_cannot_be_printed_does_not_stay_valid(ledger, form):
    """A full disk, or a reader that has gone: nobody knows the token, and its name is free again."""
    for words in (["tokens", "create", "--role", "viewer", "--name", "ci", *form],
                  ["webhooks", "create", "https://example.com/a", "--name", "hook", *form]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([str(SLUICE), *words], cwd=ledger.folder, env=environment(**ledger.variables),
                                  stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and "could not be printed" in done.stderr, done.stderr
        assert ledger.run(words[0], "--quiet") == ""
        ledger.run(*words)
        assert len(ledger.run(words[0], "--quiet").split()) == 1


def test_in_an_outage_nobody_is_told_where_the_database_is(tmp_path):
    server = Server()
    place = server.url.rpartition("=")[2]
    ledger = server.empty_ledger(tmp_path)
    viewer = token(ledger, "viewer")
    login = f"face_{os.urandom(4).hex()}"
    ledger.query(f"create role {login} login in role sluice_face")
    ledger.variables["SLUICE_DATABASE_URL"] = ledger.variables["SLUICE_DATABASE_URL"].replace("postgres@", f"{login}@")

    def refused(api, code):
        for path in ["/api/v1/status", "/api/v1/jobs", "/api/v1/batches"]:
            answer = api.ask("GET", path, headers=viewer)
            # Also the refusal of the coordinator's login: it is not that of the caller.
            assert answer.status_code == 503, answer.text
            assert answer.json()["code"] == code and "database" in answer.json()["detail"], answer.text
            for secret in [login, ledger.name, place]:
                assert secret not in answer.text, answer.text
        # The log has the whole, and once for all requests.
        assert login in api.said() or place in api.said(), api.said()
        assert api.said().count(f'"{code}"') <= 3, api.said()

    try:
        with Coordinator(ledger) as api:
            assert api.ask("GET", "/api/v1/status", headers=viewer).status_code == 200
            server.query(f"alter role {login} nologin")
            server.query(f"select pg_terminate_backend(pid) from pg_stat_activity where usename = '{login}'")
            refused(api, "ledger_permission_denied")
            server.stop()
            refused(api, "ledger_cannot_reach")
            server.start()
            server.query(f"alter role {login} login")
    finally:
        server.stop()
