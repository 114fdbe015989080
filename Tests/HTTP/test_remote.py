"""Commands that work over the API: tokens, hostile servers, and coordinators that are restarted."""

import contextlib
import json
import os
import pathlib
import resource
import socket
import subprocess
import sys
import threading
import time

import pytest

from coordinators import Coordinator, CoordinatorProcess
from terminal import PATIENCE, SLUICE, environment, listen_to_signals
from test_access import token
from test_operations import jobs, lines

pytestmark = pytest.mark.process

# What the environment of a command over HTTP has: no database.
UNSET = {"SLUICE_DATABASE_URL": ""}


def run(folder, *words, **variables):
    """Runs a command that knows no database."""
    return subprocess.run(
        [str(SLUICE), *words], cwd=folder, env=environment(**UNSET, **variables), capture_output=True, text=True,
        timeout=PATIENCE,
    )


def bearer(ledger, role, *more, name=None):
    return token(ledger, role, *more, name=name)["authorization"].removeprefix("Bearer ")


@pytest.fixture
def guarded(ledger):
    """A coordinator that serves nobody without a token."""
    with Coordinator(ledger) as api:
        yield api


def sources(folder, count, stem="talk"):
    names = [f"{stem}-{number}.wav" for number in range(count)]
    for name in names:
        (folder / name).write_bytes(b"not audio")
    return names


# MARK: - Tokens

def test_needs_no_database_but_a_token(ledger, guarded, tmp_path):
    text = bearer(ledger, "submitter")
    (names, url) = (sources(tmp_path, 3), guarded.url)
    refused = run(tmp_path, "jobs", SLUICE_URL=url)
    assert (refused.returncode, "SLUICE_TOKEN" in refused.stderr) == (6, True), refused.stderr
    submitted = run(tmp_path, "submit", *names, "--to", "out/{stem}.flac", SLUICE_URL=url, SLUICE_TOKEN=text)
    assert submitted.returncode == 0, submitted.stderr
    (tmp_path / "token").write_text(text + "\n")
    listed = run(tmp_path, "jobs", "--quiet", "--url", url, "--token-file", "token")
    assert len(listed.stdout.split()) == 3, listed.stderr
    assert run(tmp_path, "jobs", "--quiet", SLUICE_URL=url, SLUICE_TOKEN_FILE="token").stdout == listed.stdout
    again = run(tmp_path, "submit", *names, "--to", "out/{stem}.flac", SLUICE_URL=url, SLUICE_TOKEN=text)
    assert again.returncode == 0 and len(ledger.run("jobs", "--quiet").split()) == 3, again.stderr


def test_sources_are_cut_over_http(ledger, guarded, tmp_path):
    variables = {"SLUICE_URL": guarded.url, "SLUICE_TOKEN": bearer(ledger, "submitter")}
    words = ["submit", "far:talk.wav", "--split-at", "1:00,1:30", "--to", "far:out/{stem}-{n}.flac", "--json"]
    done = run(tmp_path, *words, **variables)
    assert done.returncode == 0 and json.loads(done.stdout)["jobs"] == 1, done.stdout + done.stderr
    again = run(tmp_path, *words, **variables)
    assert again.returncode == 0 and json.loads(again.stdout)["isRepetition"], again.stdout + again.stderr
    job = json.loads(run(tmp_path, "job", "1", "--json", **variables).stdout)
    assert [(output["location"], output["range"]) for output in job["recipe"]["outputs"]] == [
        ("far:out/talk-1.flac", {"from": "0:00", "to": "1:00"}), ("far:out/talk-2.flac", {"from": "1:00", "to": "1:30"}),
        ("far:out/talk-3.flac", {"from": "1:30"}),
    ]
    page = run(tmp_path, "job", "1", **variables).stdout
    assert "far:out/talk-2.flac   1:00 to 1:30   tag track=2/3" in page, page


def test_a_viewer_changes_nothing(ledger, guarded, tmp_path):
    names = sources(tmp_path, 2)
    ledger.run("submit", *names, "--to", "out/{stem}.flac")
    before = ledger.run("jobs", "--json"), ledger.run("queues", "--json")
    variables = {"SLUICE_URL": guarded.url, "SLUICE_TOKEN": bearer(ledger, "viewer")}
    assert run(tmp_path, "jobs", **variables).returncode == 0
    for words in [
        ["cancel", "--all", "--yes"], ["prioritize", "3", "--all", "--yes"], ["queues", "pause", "default"],
        ["submit", names[0], "--to", "other/{stem}.mp3", "--preset", "podcast-mp3"],
    ]:
        done = run(tmp_path, *words, **variables)
        assert done.returncode == 6 and "ledger_permission_denied" in done.stderr, (words, done.stderr)
    assert (ledger.run("jobs", "--json"), ledger.run("queues", "--json")) == before


def test_a_tenant_learns_nothing_of_the_jobs_of_others(ledger, guarded, tmp_path):
    for name in ["acme", "zenith"]:
        ledger.run("tenants", "create", name)
    tokens = {name: bearer(ledger, "submitter", "--tenant", name, name=f"{name}-1") for name in ["acme", "zenith"]}
    names = sources(tmp_path, 2)
    worker = ledger.start("worker", "--root", "elsewhere=/", "--slots", "4", "--name", "pump-1")
    try:
        see_what_a_tenant_may_see(ledger, guarded, tmp_path, tokens, names)
    finally:
        worker.terminate()
        assert worker.wait(PATIENCE) == 0


def see_what_a_tenant_may_see(ledger, guarded, tmp_path, tokens, names):
    end = time.monotonic() + PATIENCE
    while not ledger.run("workers", "--quiet"):
        assert time.monotonic() < end
        # The worker says nothing to this process.
        time.sleep(0.05)
    for name in tokens:
        done = run(tmp_path, "submit", *names, "--to", "out/{stem}.flac", "--json", SLUICE_URL=guarded.url,
                   SLUICE_TOKEN=tokens[name])
        # A file that the other one has asked for is new to this one.
        assert done.returncode == 0 and json.loads(done.stdout)["jobs"] == 2, done.stdout + done.stderr
        variables = {"SLUICE_URL": guarded.url, "SLUICE_TOKEN": tokens[name]}
        assert len(run(tmp_path, "jobs", "--quiet", **variables).stdout.split()) == 2
        for words in [["jobs"], ["batches", "last"], ["errors"], ["queues"]]:
            listed = run(tmp_path, *words, **variables)
            assert listed.returncode == 0, listed.stderr
        assert run(tmp_path, "wait", "--batch", "last", "--timeout", "1", **variables).returncode == 8
        status = run(tmp_path, "status", **variables)
        # It sees its own counts and how many workers there are, but not which, nor where the ledger is.
        assert status.returncode == 0 and "waiting    2 " in status.stdout, status.stdout + status.stderr
        assert "1 alive (4 slots)" in status.stdout and f"tenant {name}" in status.stdout
        told = json.loads(run(tmp_path, "status", "--json", **variables).stdout)
        assert (told["workers"], told["slots"], told["workerStates"], told["jobs"]["waiting"]) == (1, 4, {"works": 1}, 2)
        said = status.stdout + status.stderr + json.dumps(told)
        assert all(word not in said for word in ["pump-1", "postgres", socket.gethostname()]), said
        refused = run(tmp_path, "workers", **variables)
        assert refused.returncode == 6 and "sluice status" in refused.stderr, refused.stderr
        for path in ["workers", "chores", "throughput?since=2026-11-20T00:00:00Z"]:
            answer = guarded.ask("GET", f"/api/v1/{path}", headers={"authorization": f"Bearer {tokens[name]}"})
            assert (answer.status_code, answer.json()["code"]) == (403, "tenant_not_fit"), answer.text
        with ledger.terminal("watch", columns=100, SLUICE_URL=guarded.url, SLUICE_TOKEN=tokens[name]) as terminal:
            terminal.wait_for_text("1 alive (4 slots)")
            assert "2 waiting" in terminal.text() and "pump-1" not in terminal.text()
            terminal.send("q")
            assert terminal.end() == 0
    asked = {"destinations": ["local:/x", f"local:{tmp_path}/out/talk-0.flac"]}
    for name, text in tokens.items():
        found = guarded.post("/api/v1/earlier", asked, headers={"authorization": f"Bearer {text}"}).json()["earlier"]
        mine = guarded.get("/api/v1/batches", headers={"authorization": f"Bearer {text}"})["batches"][0]["id"]
        assert found[0] is None and (found[1] is None or found[1]["batch"] == mine), (name, found)


def test_a_token_shows_up_nowhere(ledger, guarded, tmp_path):
    text = bearer(ledger, "operator")
    variables = {"SLUICE_URL": guarded.url, "SLUICE_TOKEN": text}
    said = []
    for words in [["jobs", "--debug"], ["config", "show", "--origin"], ["config", "show", "--origin", "--json"],
                  ["job", "999", "--debug"], ["submit", "missing.wav", "--to", "x/{stem}.mp3", "--debug"]]:
        done = run(tmp_path, *words, **variables)
        said.append(done.stdout + done.stderr)
    wrong = text[:-1] + ("0" if text[-1] != "0" else "1")
    for url in [guarded.url, "http://sluice.invalid", "http://127.0.0.1:9"]:
        for mine in [text, wrong]:
            done = run(tmp_path, "status", "--debug", "--insecure-http", "--url", url, SLUICE_TOKEN=mine)
            said.append(done.stdout + done.stderr)
    secret = text[4:60]
    assert all(secret not in one for one in said) and secret not in guarded.said()
    # The words of a process that waits, which everybody on the machine can read.
    ledger.run("queues")
    names = sources(tmp_path, 1)
    ledger.run("submit", *names, "--to", "out/{stem}.flac")
    with waiting(tmp_path, "--batch", "1", "--progress", "json", **variables) as process:
        assert process.stderr.readline()
        words = pathlib.Path(f"/proc/{process.pid}/cmdline").read_bytes()
        assert b"sluice" in words and secret.encode() not in words, process.poll()


def test_a_token_is_not_sent_in_clear_text(tmp_path, ledger):
    text = bearer(ledger, "viewer")
    for url in ["http://sluice.example.org", "http://192.0.2.1:8080", "http://127.0.0.1.example.org"]:
        done = run(tmp_path, "jobs", "--url", url, SLUICE_TOKEN=text)
        assert done.returncode == 7 and "--insecure-http" in done.stderr, done.stderr
    with hostile(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as (url, asked):
        # A proxy of the environment does not get what is for this machine.
        run(tmp_path, "jobs", "--url", "http://localhost:9", SLUICE_TOKEN=text, http_proxy=url)
        assert asked == []


def test_refuses_urls_and_tokens_that_are_none(tmp_path):
    for url in ["localhost:8080", "ftp://a", "http://", "http://a b", "http://me:secret@a", "http://a/?x=1", "unix:a",
                "http://a:99999", "http://[::1", "https://a#b"]:
        done = run(tmp_path, "jobs", SLUICE_URL=url)
        assert done.returncode in [2, 7] and "secret" not in done.stderr, (url, done.stderr)
    done = run(tmp_path, "jobs", SLUICE_URL="http://localhost:9", SLUICE_TOKEN="slt_nonsense")
    assert done.returncode == 7 and "nonsense" not in done.stderr, done.stderr
    both = run(tmp_path, "jobs", "--url", "http://localhost:9", "--database", "postgresql://x")
    assert both.returncode == 2, both.stderr


def test_commands_that_need_the_database_say_so(tmp_path):
    for words in [["migrate"], ["tokens"], ["tenants"], ["audit"], ["doctor"], ["metrics"],
                  ["check", "--all", "--repair", "--yes"], ["worker", "--root", "local=/"], ["coordinator"]]:
        done = run(tmp_path, *words, SLUICE_URL="http://localhost:9")
        assert done.returncode == 7 and "needs the database" in done.stderr, (words, done.stderr)


def test_config_tells_the_coordinator(tmp_path, ledger):
    variables = {"SLUICE_URL": "https://sluice.example.org/", "SLUICE_TOKEN": bearer(ledger, "viewer")}
    told = [json.loads(line) for line in run(tmp_path, "config", "--origin", "--json", **variables).stdout.splitlines()]
    found = {one["setting"]: one for one in told}
    assert found["url"]["value"] == "https://sluice.example.org" and found["url"]["variables"] == ["SLUICE_URL"]
    assert found["token"]["value"] == "***" and "database" not in found
    # A coordinator comes before the address of a database, and a context before both.
    both = run(tmp_path, "config", "--json", SLUICE_URL="http://localhost:1", DATABASE_URL="postgresql://db/a").stdout
    assert '"setting":"url"' in both and "postgresql" not in both


def test_a_context_leads_to_a_coordinator(ledger, guarded, tmp_path):
    names = sources(tmp_path, 2)
    ledger.run("submit", *names, "--to", "out/{stem}.flac")
    (tmp_path / "token").write_text(bearer(ledger, "operator") + "\n")
    place = {"XDG_CONFIG_HOME": str(tmp_path)}

    def config(*words):
        done = run(tmp_path, "config", *words, **place)
        assert done.returncode == 0, done.stderr

    config("set-context", "radio", "--url", guarded.url, "--token-file", "token")
    config("use", "radio")
    assert len(run(tmp_path, "jobs", "--quiet", **place).stdout.split()) == 2
    status = run(tmp_path, "status", "--json", **place)
    assert json.loads(status.stdout)["context"] == "radio", status.stderr
    every = run(tmp_path, "status", "--all-contexts", "--json", **place)
    assert json.loads(every.stdout)["jobs"]["waiting"] == 2, every.stderr
    # What needs the database says so, until the context has one as well.
    refused = run(tmp_path, "audit", **place)
    assert refused.returncode == 7 and "only a coordinator" in refused.stderr, refused.stderr
    config("set-context", "radio", "--database", ledger.variables["SLUICE_DATABASE_URL"])
    assert run(tmp_path, "audit", **place).returncode == 0
    # A question names the context.
    assert "in context radio" in run(tmp_path, "cancel", "--all", **place).stderr
    (tmp_path / "token").unlink()
    missing = run(tmp_path, "status", "--all-contexts", **place)
    assert missing.returncode == 3 and "no answer" in missing.stdout and "token" in missing.stderr, missing.stderr


def test_the_token_of_a_variable_is_for_no_other_coordinator(ledger, tmp_path):
    text = bearer(ledger, "viewer")
    place = {"XDG_CONFIG_HOME": str(tmp_path)}
    with hostile(answer(json.dumps(TIME))) as (url, asked):
        assert run(tmp_path, "config", "set-context", "radio", "--url", url, **place).returncode == 0
        more = {**place, "SLUICE_URL": "https://sluice.example.org", "SLUICE_TOKEN": text}
        run(tmp_path, "jobs", "--context", "radio", **more)
        assert asked and text.encode() not in asked[0], asked
        asked.clear()
        # Without another URL it is the only one that can be meant.
        run(tmp_path, "jobs", "--context", "radio", **place, SLUICE_TOKEN=text)
        assert asked and text.encode() in asked[0], asked


# MARK: - Hostile servers

@contextlib.contextmanager
def hostile(*answers, endless=None):
    """A server that gives these answers, one for each connection, the last one for all further ones."""
    listener = socket.create_server(("127.0.0.1", 0))
    asked = []

    def serve():
        for number in range(10_000):
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                asked.append(connection.recv(65_536))
                connection.sendall(answers[min(number, len(answers) - 1)])
                while endless:
                    connection.sendall(endless)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def answer(body, kind="application/json", status="200 OK", more=""):
    body = body.encode() if isinstance(body, str) else body
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{more}\r\n"
    return head.encode() + body


JOB = {
    "id": 1, "state": "waiting", "batch": 1, "queue": "default", "priority": 0, "source": "a:b",
    "since": "2026-11-20T09:31:04.125Z", "attempts": 0, "maxAttempts": 3, "losses": 0, "roomDeaths": 0,
}
TIME = {"time": "2026-11-20T09:31:04.125Z"}


def jobs_with(**members):
    return [answer(json.dumps(TIME)), answer(json.dumps({"jobs": [{**JOB, **members}]}))]


@pytest.mark.parametrize("answers", [
    [answer("{")], [answer("")], [answer("[]")], [answer("nonsense")], [answer(b"\xff\xfe{}")],
    [answer(json.dumps({"time": "yesterday"}))], [answer(json.dumps({"time": 3}))],
    [answer("<html>", kind="text/html")], [answer(json.dumps(TIME), kind="text/plain")],
    [answer("", status="302 Found", more="Location: http://127.0.0.1:9/\r\n")],
    [answer("", status="500 Oops")], [answer("{}", kind="application/problem+json", status="400 Bad Request")],
    [answer("[" * 100_000)],
    jobs_with(id=0), jobs_with(id=-1), jobs_with(id=2**63), jobs_with(id=1e300), jobs_with(attempts=-1),
    jobs_with(frames=2**63 - 1), jobs_with(state="dancing"), jobs_with(since="9" * 4_000), jobs_with(source=None),
    jobs_with(**{"class": "strange"}), jobs_with(bytes=2**62),
], ids=range(24))
def test_what_is_no_answer_is_refused(tmp_path, answers):
    with hostile(*answers) as (url, _):
        done = run(tmp_path, "jobs", SLUICE_URL=url)
    assert done.returncode == 5 and "coordinator_unexpected_answer" in done.stderr, done.stderr
    assert done.stdout == ""


def test_text_of_a_stranger_is_printable(tmp_path):
    problem = {"code": "bad_parameter", "title": "a\x1b[31m", "detail": "b\r\n\x07" + "x" * 100_000, "status": 400,
               "type": "x", "errors": [{"pointer": "\x1b]0;t\x07", "detail": "c"}] * 5_000}
    with hostile(answer(json.dumps(problem), kind="application/problem+json", status="400 Bad Request")) as (url, _):
        done = run(tmp_path, "jobs", SLUICE_URL=url)
    assert done.returncode == 1 and "\x1b" not in done.stderr and "\x07" not in done.stderr
    assert len(done.stderr) < 50_000
    with hostile(*jobs_with(source="\x1b[2J:x", queue="\x1b[31m", worker="\x9b")) as (url, _):
        done = run(tmp_path, "jobs", SLUICE_URL=url)
    assert "\x1b" not in done.stdout + done.stderr and "\x9b" not in done.stdout + done.stderr


def test_an_endless_answer_needs_no_endless_memory(tmp_path):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n[\""
    with hostile(head, endless=b"x" * 65_536) as (url, _):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        done = run(tmp_path, "jobs", SLUICE_URL=url)
        after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert done.returncode == 5 and "longer than" in done.stderr, done.stderr
    assert after < max(before, 400_000), (before, after)


def test_a_list_without_an_end_is_not_read_for_ever(tmp_path):
    """A page may have no jobs, but the next one must be another."""
    for found in [[{**JOB, "state": "failed"}], []]:
        page = answer(json.dumps({"jobs": found, "next": "e30"}))
        with hostile(answer(json.dumps(TIME)), page, page) as (url, asked):
            done = run(tmp_path, "jobs", "--all", "--json", SLUICE_URL=url)
            assert done.returncode == 5 and "does not end" in done.stderr, done
            assert len(asked) == 3, asked


def test_a_search_inside_sources_goes_on(ledger, operator, api, tmp_path):
    """A request reads so many sources that one search does not hold up others for long."""
    first = api.post("/api/v1/batches", {"jobs": jobs(1, "wanted")}).json()["firstJob"]
    many = api.client.post(
        "/api/v1/batches", content=lines(jobs(110_000, "many")), headers={"content-type": "application/x-ndjson"}
    )
    assert many.status_code == 201, many.text
    page = operator.get("/api/v1/jobs", params={"sourceContains": "wanted"})
    assert page["jobs"] == [] and "next" in page
    page = operator.get("/api/v1/jobs", params={"sourceContains": "wanted", "after": page["next"]})
    assert [job["id"] for job in page["jobs"]] == [first] and "next" not in page
    assert run(tmp_path, "jobs", "--quiet", "--source-contains", "wanted", SLUICE_URL=operator.url).stdout == f"{first}\n"


def test_a_change_without_an_end_is_not_made_for_ever(tmp_path):
    part = {"change": "cancel", "jobs": 5, "isDone": True, "changed": 5, "askedToStop": 0, "publishing": 0,
            "isLowerBound": False}
    for more, asks in [({"next": "e30"}, 4), ({"next": "e30", "jobs": 2**40}, 3), ({"changed": 2**53}, 3)]:
        count = answer(json.dumps({**part, "isDone": False}))
        with hostile(answer(json.dumps(TIME)), count, answer(json.dumps({**part, **more}))) as (url, asked):
            done = run(tmp_path, "cancel", "--all", "--yes", SLUICE_URL=url)
            assert done.returncode == 5 and "coordinator_unexpected_answer" in done.stderr, done
            assert len(asked) == asks, asked


def test_large_numbers_cannot_overflow(tmp_path):
    groups = [{"code": "truncated", "class": "permanent", "stage": "decode", "jobs": 2**40, "attempts": 2**40,
               "latestAt": TIME["time"], "example": 1, "exampleSource": "a:b"}] * 3_000
    with hostile(answer(json.dumps({"failures": groups}))) as (url, _):
        done = run(tmp_path, "errors", SLUICE_URL=url)
    # Whatever the command makes of it, it ends by itself.
    assert done.returncode in [0, 1, 3, 5], done


def test_a_proxy_without_a_coordinator_may_have_passed_the_change_on(tmp_path):
    count = {"change": "cancel", "jobs": 5, "isDone": False, "changed": 0, "askedToStop": 0, "publishing": 0,
             "isLowerBound": False}
    for status, is_open in [("502 Bad Gateway", True), ("504 Timeout", True), ("503 Unavailable", False)]:
        first = [answer(json.dumps(TIME)), answer(json.dumps(count))]
        with hostile(*first, answer("", kind="text/html", status=status)) as (url, _):
            done = run(tmp_path, "cancel", "--all", "--yes", SLUICE_URL=url)
        assert done.returncode == 5 and ("the change may have been made" in done.stderr) == is_open, done


def test_a_server_that_is_away_is_unreachable(tmp_path):
    for url in ["http://127.0.0.1:9", f"unix:{tmp_path}/nobody"]:
        done = run(tmp_path, "jobs", SLUICE_URL=url)
        assert done.returncode == 5 and "ledger_cannot_reach" in done.stderr, done.stderr


# MARK: - Coordinators that go away

@contextlib.contextmanager
def waiting(folder, *words, **variables):
    process = subprocess.Popen(
        [str(SLUICE), "wait", *words], cwd=folder, env=environment(**UNSET, **variables), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, preexec_fn=listen_to_signals,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_waits_while_the_coordinator_is_restarted(ledger, tmp_path):
    names = sources(tmp_path, 1)
    ledger.run("submit", *names, "--to", "out/{stem}.flac")
    place = f"{tmp_path}/http"
    first = CoordinatorProcess(ledger, "--open-role", "viewer", listen=place).__enter__()
    with waiting(tmp_path, "--batch", "1", "--progress", "json", SLUICE_URL=f"unix:{place}") as process:
        process.stderr.readline()
        first.process.kill()
        first.process.wait()
        until(process, "unreachable")
        os.unlink(place)
        with CoordinatorProcess(ledger, "--open-role", "viewer", listen=place):
            until(process, "reachable again")
            ledger.run("cancel", "--all", "--yes")
            rest, _ = process.communicate(timeout=PATIENCE)
        assert (process.returncode, rest) == (3, "batch 1  1 cancelled\n")


def until(process, words):
    """Reads what a process says up to the line with these words."""
    said = []
    while not said or words not in said[-1]:
        said.append(process.stderr.readline())
        assert said[-1], said


@pytest.mark.parametrize("seconds", [0, 6])
def test_a_submission_whose_answer_is_lost_is_sent_once(ledger, guarded, tmp_path, seconds):
    """A relay that cuts the connection after the coordinator's answer, once; also when that took longer than the command
    waits for a coordinator that is away."""
    text = bearer(ledger, "submitter")
    lost = []

    def relay(connection):
        with connection, socket.create_connection(("127.0.0.1", guarded.port)) as server, \
                contextlib.suppress(OSError):
            request = b""
            connection.settimeout(PATIENCE)
            while piece := connection.recv(65_536):
                request += piece
                head, _, body = request.partition(b"\r\n\r\n")
                length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n")
                               if line.lower().startswith(b"content-length:")), 0)
                if b"\r\n\r\n" not in request or len(body) < length:
                    continue
                server.sendall(request)
                answer = server.recv(65_536)
                if request.startswith(b"POST /api/v1/batches") and not lost:
                    lost.append(answer)
                    # A batch of millions.
                    time.sleep(seconds)
                    # Otherwise libcurl would send the request again by itself.
                    connection.sendall(answer[:10])
                    return
                connection.sendall(answer)
                request = b""

    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=relay, args=[connection], daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    names = sources(tmp_path, 4)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        for again in [[], ["--again"]]:
            lost.clear()
            done = run(tmp_path, "submit", *names, "--to", "out/{stem}.flac", "--json", *again, SLUICE_URL=url,
                       SLUICE_TOKEN=text)
            assert done.returncode == 0, done.stderr
            record = json.loads(done.stdout.splitlines()[0])
            # As if the answer had not been lost.
            assert lost and b" 201 " in lost[0][:20], lost
            assert record["isRepetition"] is False and record["jobs"] == 4, record
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
    assert len(ledger.run("batches", "--quiet").split()) == 2
    assert len(ledger.run("jobs", "--quiet").split()) == 8


def test_many_jobs_need_little_memory(ledger, guarded, tmp_path):
    text = bearer(ledger, "submitter")
    places = tmp_path / "places.txt"
    # More than one request for earlier jobs may name.
    count = 20_500
    places.write_text("".join(f"archive:in/{number:06}-{'x' * 60}.wav\n" for number in range(count)))
    done = run(tmp_path, "submit", "--files-from", "places.txt", "--to", "archive:out/{stem}.flac", "--json",
               SLUICE_URL=guarded.url, SLUICE_TOKEN=text)
    assert done.returncode == 0 and json.loads(done.stdout)["jobs"] == count, done.stderr
    again = run(tmp_path, "submit", "--files-from", "places.txt", "--to", "archive:out/{stem}.flac", "--json",
                SLUICE_URL=guarded.url, SLUICE_TOKEN=text)
    assert again.returncode == 0 and ledger.query("select count(*) from sluice.job") == str(count), again.stdout


def peak(folder, text, url, count):
    """Bytes of memory that a submission of so many jobs takes at most."""
    places = folder / f"{count}.txt"
    places.write_text("".join(f"archive:in/{number:06}-{'x' * 60}.wav\n" for number in range(count)))
    words = ["submit", "--files-from", places.name, "--to", "archive:out/{stem}.flac", "--quiet"]
    variables = environment(**UNSET, SLUICE_URL=url, SLUICE_TOKEN=text)
    # The peak of a process begins with that of the process that has started it, so a small one does.
    small = ("import resource, subprocess, sys\n"
             "status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n"
             "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
             "sys.exit(status)")
    run = subprocess.run([sys.executable, "-I", "-S", "-c", small, str(SLUICE), *words], cwd=folder, env=variables,
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return int(run.stdout) << 10


def test_a_job_takes_some_hundred_bytes_of_memory(ledger, guarded, tmp_path):
    """Its line in the list takes 80 bytes. As a value with strings, each job took 1.7 kB."""
    text = bearer(ledger, "submitter")
    count = 50_000
    (few, many) = (peak(tmp_path, text, guarded.url, 10), peak(tmp_path, text, guarded.url, count))
    assert ledger.query("select count(*) from sluice.job") == str(count)
    assert (many - few) / count < 700, f"{few >> 20} MiB for 10 jobs, {many >> 20} MiB for {count}"


def test_a_preview_without_jobs_tells_what_the_caller_may_do(ledger, guarded):
    for (role, status) in [("submitter", 200), ("viewer", 403)]:
        headers = {"content-type": "application/x-ndjson", **token(ledger, role)}
        answer = guarded.ask("POST", "/api/v1/previews", content=b"", headers=headers)
        assert answer.status_code == status, answer.text


# MARK: - What the API has for commands

def test_changes_jobs_part_by_part(ledger, api, operator, tmp_path):
    lines = "".join(f'{{"source": "in:{number}.wav", "output": "out:{number}.flac"}}\n' for number in range(25))
    lines_type = {"content-type": "application/x-ndjson"}
    assert api.ask("POST", "/api/v1/batches", content=lines, headers=lines_type).status_code == 201
    change = {"change": "prioritize", "priority": 3, "filter": {"state": ["waiting"]}, "limit": 10}
    (changed, parts, after) = (0, 0, {})
    while after is not None:
        done = operator.post("/api/v1/changes", {**change, **after}).json()
        (changed, parts) = (changed + done["changed"], parts + 1)
        after = {"after": done["next"]} if "next" in done else None
    assert changed == 25 and parts >= 3
    assert operator.post("/api/v1/changes", {"change": "cancel", "filter": {}, "after": "e30"}).status_code == 400


def test_bounds_the_destinations_of_a_request(api):
    asked = {"destinations": ["out:a.flac"] * 20_001}
    refused = api.post("/api/v1/earlier", asked)
    assert refused.status_code == 400 and refused.json()["errors"][0]["pointer"] == "/destinations"
    asked["destinations"].pop()
    assert api.post("/api/v1/earlier", asked).json()["earlier"] == [None] * 20_000


def test_bounds_the_sources_of_a_request(api):
    asked = {"sources": ["in:a.flac"] * 20_001}
    refused = api.post("/api/v1/scans", asked)
    assert refused.status_code == 400 and refused.json()["errors"][0]["pointer"] == "/sources"
    asked["sources"].pop()
    assert api.post("/api/v1/scans", asked).json()["scans"] == [None] * 20_000


def test_an_attempt_is_submitted_once(api):
    line = '{"source": "in:a.wav", "output": "out:a.flac", "stamp": {"bytes": 3, "modified": -1}}\n'
    lines_type = {"content-type": "application/x-ndjson"}
    attempt = "0f7be352-6f4c-4fd4-9f63-5bf3f6c1a2f1"
    answers = [
        api.ask("POST", f"/api/v1/batches?attempt={attempt}", content=line, headers=lines_type) for _ in range(2)
    ]
    assert [one.status_code for one in answers] == [201, 201] and answers[0].json() == answers[1].json()
    assert len(api.get("/api/v1/jobs")["jobs"]) == 1
    for wrong in ["x" * 36, "1"]:
        path = f"/api/v1/batches?attempt={wrong}"
        assert api.ask("POST", path, content=line, headers=lines_type).status_code == 400
