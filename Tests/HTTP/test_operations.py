"""What programs can ask for. Every answer is checked against the description of the API."""

import json
import os
import socket
import subprocess
import time

import httpx
import pytest

from coordinators import Coordinator, CoordinatorProcess
from terminal import PATIENCE, SLUICE, environment


def jobs(count, name="in"):
    return [{"source": f"in:{name}/{number}.wav", "output": f"out:{name}/{number}.flac"} for number in range(count)]


def pieces(*ranges):
    """A recipe that cuts its source."""
    outputs = [
        {
            "location": f"out:piece-{number}.wav", "tags": {"track": f"{number}"},
            "range": {"from": start, **({"to": end} if end else {})},
        }
        for number, (start, end) in enumerate(ranges, 1)
    ]
    return {"version": 3, "sources": [{"location": "in:a.wav"}], "outputs": outputs}


def lines(items):
    return "".join(json.dumps(item) + "\n" for item in items)


def problem(answer, status, code):
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, answer.json()["status"], answer.json()["code"]) == (status, status, code), answer.text
    return answer.json()


def test_says_whether_it_is_ready(server, ledger):
    with Coordinator(ledger, "--open-role", "viewer") as api:
        assert api.get("/healthz") == {"isWell": True}
        assert api.get("/readyz") == {"isWell": True}


def test_submits_and_shows(api):
    answer = api.post("/api/v1/batches", {"queue": "night", "name": "first", "priority": 5, "jobs": jobs(3)})
    assert answer.status_code == 201
    receipt = answer.json()
    assert answer.headers["location"] == f"/api/v1/batches/{receipt['batch']}"
    batch = api.get(answer.headers["location"])
    assert (batch["name"], batch["queue"], batch["priority"]) == ("first", "night", 5)
    assert (batch["jobs"]["waiting"], batch["isDone"], batch["submitter"]) == (3, False, "token:local")
    job = api.get(f"/api/v1/jobs/{receipt['firstJob']}")
    assert (job["source"], job["state"]) == ("in:in/0.wav", "waiting")
    assert job["needs"] == ["codec:flac", "recipe:1", "root:in", "root:out"]
    assert [queue["queue"] for queue in api.get("/api/v1/queues")["queues"]] == ["default", "night"]
    status = api.get("/api/v1/status")
    assert status["jobs"]["waiting"] == 3
    # Neither the database's user nor its host.
    assert status["ledger"].startswith("schema ") and "postgres" not in status["ledger"]


def test_keeps_how_many_sources_were_left_out(api):
    first = api.post("/api/v1/batches", {"jobs": jobs(2), "sourcesSkipped": 5}).json()
    assert api.get(f"/api/v1/batches/{first['batch']}")["sourcesSkipped"] == 5
    answer = api.client.post(
        "/api/v1/batches", params={"sourcesSkipped": 7}, content=lines(jobs(2)),
        headers={"content-type": "application/x-ndjson"},
    )
    assert api.get(f"/api/v1/batches/{answer.json()['batch']}")["sourcesSkipped"] == 7
    problem(api.post("/api/v1/batches", {"jobs": jobs(1), "sourcesSkipped": -1}), 400, "bad_body")


def test_refuses_names_that_name_another_batch(api):
    for name in ["3", "last"]:
        for count in [1, 2]:
            refusal = problem(api.post("/api/v1/batches", {"name": name, "jobs": jobs(count)}), 422, "ledger_refused")
            assert "names another batch" in refusal["detail"]
    assert api.get("/api/v1/batches") == {"batches": []}


def test_takes_null_for_what_is_not_set(api):
    unset = ["recipe", "preset", "onConflict", "needs", "cost", "maxAttempts", "runAt", "labels", "stamp"]
    job = {**jobs(1)[0], **dict.fromkeys(unset)}
    assert api.post("/api/v1/batches", {"jobs": [job]}).status_code == 201
    lines_type = {"content-type": "application/x-ndjson"}
    assert api.ask("POST", "/api/v1/batches", content=lines([job]), headers=lines_type).status_code == 201
    stored = [api.get(f"/api/v1/jobs/{one['id']}") for one in api.get("/api/v1/jobs")["jobs"]]
    api.post("/api/v1/batches", {"jobs": jobs(1)})
    plain = api.get(f"/api/v1/jobs/{api.get('/api/v1/jobs')['jobs'][0]['id']}")
    assert [one["recipe"] for one in stored] == [plain["recipe"]] * 2
    missing = problem(api.post("/api/v1/batches", {"jobs": [{**job, "output": None}]}), 400, "bad_body")
    assert missing["errors"][0]["pointer"].endswith("/output"), missing


def test_tells_the_throughput_of_the_last_hour(api, ledger):
    api.post("/api/v1/batches", {"jobs": jobs(1)})
    ledger.query(
        "insert into sluice.pace (minute, queue, completed, failed, cancelled, audio_ms, began) "
        "select date_trunc('minute', now()) - make_interval(mins => m), q.id, 1, 0, 0, 1000, now() - interval '2 days' "
        "from sluice.queue q, generate_series(1, 180, 10) m"
    )
    assert len(api.get("/api/v1/throughput")["throughput"]) == 6
    assert len(api.get("/api/v1/throughput?since=2020-01-01T00:00:00Z")["throughput"]) == 18


def test_takes_recipes_that_cut_their_source(api):
    recipe = pieces(("0:00", "0:10"), ("31/3", "0:40"), ("0:40", None))
    for _ in range(2):
        receipt = api.post("/api/v1/batches", {"jobs": [{"recipe": recipe}]}).json()
        job = api.get(f"/api/v1/jobs/{receipt['firstJob']}")
        assert job["needs"] == ["codec:pcm", "recipe:3", "root:in", "root:out"]
        outputs = job["recipe"]["outputs"]
        assert [output["location"] for output in outputs] == [f"out:piece-{number}.wav" for number in [1, 2, 3]]
        assert [output["range"] for output in outputs] == [
            {"from": "0:00", "to": "0:10"}, {"from": "31/3", "to": "0:40"}, {"from": "0:40"},
        ]
        assert outputs[2]["tags"] == {"track": "3"}


def test_shows_the_same_as_the_command(api, ledger):
    api.post("/api/v1/batches", {"jobs": jobs(3)})
    own = [json.loads(line) for line in ledger.run("jobs", "--json").splitlines()]
    assert api.get("/api/v1/jobs")["jobs"] == own
    assert api.get(f"/api/v1/jobs/{own[0]['id']}") == json.loads(ledger.run("job", f"{own[0]['id']}", "--json"))
    assert api.get("/api/v1/batches")["batches"] == [json.loads(ledger.run("batches", "--json"))]
    for path, name, word in [
        ("formats", "formats", "formats"), ("presets", "presets", "presets"), ("codes", "codes", "explain"),
    ]:
        shown = [json.loads(line) for line in ledger.run(word, "--json").splitlines()]
        assert api.get(f"/api/v1/{path}")[name] == shown


def test_pages_through_all_jobs(api):
    api.post("/api/v1/batches", {"jobs": jobs(25)})
    seen, after = [], {}
    while True:
        page = api.get("/api/v1/jobs", params={"limit": 10, **after})
        seen += [job["id"] for job in page["jobs"]]
        if "next" not in page:
            break
        after = {"after": page["next"]}
    assert len(seen) == 25 and seen == sorted(seen, reverse=True)
    for text in ["x", "e30x", "bm8", "W10"]:
        problem(api.ask("GET", "/api/v1/jobs", params={"after": text}), 400, "bad_parameter")


def test_pages_through_the_jobs_of_a_batch(api):
    api.post("/api/v1/batches", {"jobs": jobs(1, "other")})
    batch = api.post("/api/v1/batches", {"jobs": jobs(3)}).json()
    path = f"/api/v1/batches/{batch['batch']}/jobs"
    seen, after = [], {}
    while True:
        page = api.get(path, params={"limit": 1, **after})
        assert len(page["jobs"]) <= 1
        seen += [(job["source"], job["needs"][0], "recipe" in job) for job in page["jobs"]]
        if "next" not in page:
            break
        after = {"after": page["next"]}
    assert seen == [(f"in:in/{number}.wav", "codec:flac", True) for number in range(3)]
    assert [job["source"] for job in api.get(path)["jobs"]] == [source for source, _, _ in seen]
    problem(api.ask("GET", "/api/v1/batches/999/jobs"), 404, "no_such_thing")
    for parameters in [{"limit": 0}, {"limit": 101}, {"after": "x"}, {"x": 1}]:
        problem(api.ask("GET", path, params=parameters), 400, "bad_parameter")


def test_finds_outputs_and_their_makers(api):
    batch = api.post("/api/v1/batches", {"jobs": jobs(1)}).json()
    # Nothing was completed.
    assert api.get("/api/v1/outputs") == {"outputs": []}
    assert api.get("/api/v1/outputs", params={"limit": 1, "batch": batch["batch"]}) == {"outputs": []}
    for parameters in [{"limit": 0}, {"limit": 1001}, {"after": "x"}]:
        problem(api.ask("GET", "/api/v1/outputs", params=parameters), 400, "bad_parameter")
    ours, other = [{"destination": place, "first": place} for place in ["out:in/0.flac", "out:other.flac"]]
    found = api.post("/api/v1/makers", {"outputs": [other, ours]}).json()
    assert found == {"makers": [[], [{"job": batch["firstJob"], "state": "waiting"}]]}
    assert len(api.post("/api/v1/makers", {"outputs": [other] * 1_000}).json()["makers"]) == 1_000
    # A longer body than most may be.
    long = {name: f"out:{'folder/' * 100}{name}.flac" for name in ["destination", "first"]}
    assert api.post("/api/v1/makers", {"outputs": [long] * 1_000}).json()["makers"] == [[]] * 1_000
    for body in [{}, {"outputs": [other] * 1_001}, {"outputs": [{"destination": "out:a.flac"}]}]:
        problem(api.post("/api/v1/makers", body), 400, "bad_body")


def test_filters(api):
    api.post("/api/v1/batches", {"queue": "a", "jobs": jobs(2, "one")})
    second = api.post("/api/v1/batches", {"queue": "b", "jobs": jobs(3, "two")}).json()
    for filter, count in [
        ({"queue": "a"}, 2), ({"batch": second["batch"]}, 3), ({"state": "waiting,running"}, 5), ({"state": "failed"}, 0),
        ({"source": "in:two/"}, 3), ({"sourceContains": "/1.wav"}, 2), ({"since": "2020-01-01T00:00:00Z"}, 5),
        ({"id": f"{second['firstJob']}"}, 1),
    ]:
        assert len(api.get("/api/v1/jobs", params=filter)["jobs"]) == count, filter


def test_takes_lines_of_any_length_in_constant_memory(separate):
    def body(count):
        for start in range(0, count, 500):
            yield lines(
                {"source": f"in:{number}.wav", "output": f"out:{count}/{number}.flac"}
                for number in range(start, min(start + 500, count))
            ).encode()

    def send(count):
        whole = b"".join(body(count))
        answer = separate.ask(
            "POST", "/api/v1/batches?queue=bulk", content=whole, headers={"content-type": "application/x-ndjson"}
        )
        assert answer.status_code == 201, answer.text
        assert answer.json()["jobCount"] == count

    send(2_000)
    before = separate.resident()
    send(40_000)
    # Two megabytes of text; the jobs of a body that was collected would take many times as much.
    assert separate.resident() - before < 24 << 20


def test_submits_a_batch_once(api):
    key = {"idempotency-key": "monday"}
    first = api.post("/api/v1/batches", {"jobs": jobs(2)}, headers=key)
    again = api.post("/api/v1/batches", {"jobs": jobs(2)}, headers=key)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == {**first.json(), "isRepetition": True}
    problem(api.post("/api/v1/batches", {"jobs": jobs(3)}, headers=key), 409, "key_in_use")
    assert api.get("/api/v1/status")["jobs"]["waiting"] == 2


@pytest.mark.parametrize("job, pointer", [
    ({"source": "in:a.wav"}, "/output"),
    ({"output": "out:a.wav"}, "/source"),
    ({"source": "/etc/passwd", "output": "out:a.wav"}, "/recipe/sources/0/location"),
    ({"source": "in:../a.wav", "output": "out:a.wav"}, "/recipe/sources/0/location"),
    ({"source": "in:a.wav", "output": "out:a.xyz"}, "/recipe/outputs/0/format"),
    ({"source": "in:a.wav", "output": "in:a.wav"}, "/recipe/outputs/0/location"),
    ({"source": "in:a.wav", "output": "out:a.mp3", "preset": "mp3-v00"}, "/recipe/outputs/0/preset"),
    ({"source": "in:a.wav", "output": "out:a.wav", "runAt": "tomorrow"}, "/runAt"),
    ({"source": "in:a.wav", "output": "out:a.wav", "cost": 0}, "/cost"),
    ({"source": "in:a.wav", "output": "out:a.wav", "color": "red"}, "/color"),
    ({"recipe": {"version": 9}}, "/recipe/version"),
    ({"recipe": {"version": 1, "sources": []}}, "/recipe/outputs"),
    ({"recipe": pieces(("0:00", "0:10"), ("0:05", None))}, "/recipe/outputs/1/range/from"),
    ({"recipe": {**pieces(("0:00", None)), "version": 2}}, "/recipe/outputs/0/range"),
    ({"recipe": {"version": 4, "sources": [{"location": "in:a.wav"}], "outputs": [
        {"location": "out:a.flac"}, {"location": "out:a.gif", "waveform": {}},
    ]}}, "/recipe/outputs/1/location"),
    ({"recipe": {"version": 3, "sources": [{"location": "in:a.wav"}], "outputs": [
        {"location": "out:a.dat", "waveform": {}},
    ]}}, "/recipe/outputs/0/waveform"),
    ({"recipe": pieces(*((f"{n}", f"{n + 1}") for n in range(201)))}, "/recipe/outputs"),
])
def test_says_what_is_wrong_with_a_job(api, job, pointer):
    told = problem(api.post("/api/v1/batches", {"jobs": [*jobs(1), job]}), 400, "bad_body")
    assert told["errors"][0]["pointer"] == f"/jobs/1{pointer}", told
    content = lines([*jobs(1), job])
    answer = api.ask("POST", "/api/v1/batches", content=content, headers={"content-type": "application/x-ndjson"})
    told = problem(answer, 400, "bad_body")
    assert told["detail"].startswith("line 2 ") and told["errors"][0]["pointer"] == pointer, told
    assert api.get("/api/v1/status")["jobs"]["waiting"] == 0


def test_the_refusal_of_many_lines_is_heard(api):
    # Far more than a connection holds.
    content = b"not json\n" + lines(jobs(30_000)).encode()
    answer = api.ask("POST", "/api/v1/batches", content=content, headers={"content-type": "application/x-ndjson"})
    assert problem(answer, 400, "bad_body")["detail"].startswith("line 1 ")


def test_submits_nothing_of_a_body_that_breaks_off(api):
    with api.connect() as connection:
        body = lines(jobs(2_000)).encode()
        connection.sendall(
            b"POST /api/v1/batches HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: "
            + str(len(body) + 100).encode() + b"\r\n\r\n" + body
        )
    # The same connection of the ledger's pool is free again.
    for _ in range(10):
        assert api.get("/api/v1/status")["jobs"]["waiting"] == 0


def test_refuses_what_it_does_not_know(api):
    problem(api.ask("GET", "/api/v1/job"), 404, "no_such_thing")
    problem(api.ask("GET", "/api/v1/jobs/x"), 404, "no_such_thing")
    problem(api.ask("GET", "/api/v1/jobs/0"), 404, "no_such_thing")
    problem(api.ask("GET", f"/api/v1/jobs/{2 ** 63}"), 404, "no_such_thing")
    answer = api.ask("DELETE", "/api/v1/jobs")
    assert problem(answer, 405, "wrong_method") and answer.headers["allow"] == "GET"
    for parameters in [{"limit": 0}, {"limit": 1001}, {"limit": "+5"}, {"state": "lost"}, {"x": 1}, {"since": "now"}]:
        problem(api.ask("GET", "/api/v1/jobs", params=parameters), 400, "bad_parameter")
    problem(api.ask("GET", "/api/v1/jobs?limit=1&limit=2"), 400, "bad_parameter")
    for body in [{}, {"jobs": []}, {"jobs": {}}, {"jobs": jobs(1), "x": 1}, {"jobs": jobs(1), "priority": 101},
                 {"jobs": jobs(1), "queue": "a b"}, []]:
        problem(api.post("/api/v1/batches", body), 400, "bad_body")
    problem(api.ask("POST", "/api/v1/batches", content="x", headers={"content-type": "text/plain"}), 415, "wrong_type")
    for text in ["{", '"', "\ud800".encode("utf-8", "surrogatepass"), "[1e999]", "[" * 10_000]:
        answer = api.ask("POST", "/api/v1/batches", content=text, headers={"content-type": "application/json"})
        problem(answer, 400, "bad_body")


def test_changes_jobs(api, operator):
    receipt = api.post("/api/v1/batches", {"jobs": jobs(5)}).json()
    wanted = {"change": "cancel", "filter": {"batch": receipt["batch"]}}
    preview = api.post("/api/v1/changes", {**wanted, "preview": True}).json()
    assert (preview["jobs"], preview["changed"], preview["isDone"]) == (5, 0, False)
    moved = operator.post("/api/v1/changes", {"change": "prioritize", "priority": 7, "filter": {}}).json()
    assert moved["changed"] == 5
    assert api.post("/api/v1/changes", wanted).json()["changed"] == 5
    assert api.get(f"/api/v1/batches/{receipt['batch']}")["jobs"]["cancelled"] == 5
    back = operator.post("/api/v1/changes", {"change": "retry", "filter": {"state": ["cancelled"]}}).json()
    assert back["changed"] == 5
    for value, pointer in [
        ({"change": "prioritize", "filter": {}}, "/priority"),
        ({"change": "cancel", "filter": {}, "priority": 1}, "/priority"),
        ({"change": "cancel", "filter": {}, "onDamage": "skip"}, "/onDamage"),
        ({"change": "retry", "filter": {}, "concealLimit": 1}, "/concealLimit"),
        ({"change": "retry", "filter": {}, "undo": True}, "/undo"),
    ]:
        assert problem(api.post("/api/v1/changes", value), 400, "bad_body")["errors"][0]["pointer"] == pointer


def test_steers_queues(api, operator):
    api.post("/api/v1/batches", {"queue": "a.b-c", "jobs": jobs(1)})
    path = "/api/v1/queues/a%2Eb-c"
    changed = operator.post(path, {"isPaused": True, "runningLimit": 3, "weight": 7}).json()
    assert (changed["isPaused"], changed["runningLimit"], changed["weight"]) == (True, 3, 7)
    changed = operator.post(path, {"isPaused": False, "runningLimit": 0}).json()
    assert "runningLimit" not in changed and changed["isPaused"] is False and changed["weight"] == 7
    problem(operator.post("/api/v1/queues/none", {"isPaused": True}), 404, "no_such_thing")
    problem(api.post(path, {"isPaused": True}), 403, "role_not_fit")


def test_sends_an_unchanged_answer_once(api):
    first = api.ask("GET", "/api/v1/jobs")
    tag = {"if-none-match": first.headers["etag"]}
    again = api.client.get("/api/v1/jobs", headers=tag)
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    api.post("/api/v1/batches", {"jobs": jobs(1)})
    assert len(api.ask("GET", "/api/v1/jobs", headers=tag).json()["jobs"]) == 1
    assert api.client.head("/api/v1/jobs").content == b""


@pytest.mark.process
def test_serves_at_sockets_that_systemd_hands_over(ledger):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        # What systemd does: the socket is descriptor 3, and the variables name the process.
        script = 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"'
        process = subprocess.Popen(
            ["sh", "-c", script, "-", str(SLUICE), "coordinator", "--listen", "systemd", "--open-role", "viewer"],
            env=environment(**ledger.variables), stderr=subprocess.DEVNULL, pass_fds=[3],
            preexec_fn=lambda: os.dup2(listener.fileno(), 3, inheritable=True),
        )
        try:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/healthz"
            # Connections wait until the process accepts them.
            assert httpx.get(url, timeout=PATIENCE).json() == {"isWell": True}
        finally:
            process.terminate()
            assert process.wait(PATIENCE) == 0


@pytest.mark.process
def test_a_signal_that_comes_with_the_first_answer_ends_it_in_order(ledger, tmp_path):
    path = tmp_path / "first.sock"
    # Each change of a thread's signal mask takes half a second: the signal comes before those that follow the listening.
    slowly = ["strace", "-D", "-f", "-qq", "-o", "/dev/null", "-e", "trace=rt_sigprocmask"]
    slowly += ["-e", "inject=rt_sigprocmask:delay_enter=500000"]
    process = subprocess.Popen(
        [*slowly, str(SLUICE), "coordinator", "--listen", str(path), "--open-role", "viewer"],
        env=environment(**ledger.variables), stderr=subprocess.DEVNULL
    )
    end = time.monotonic() + PATIENCE
    while not path.exists():
        assert time.monotonic() < end and process.poll() is None
        # A file that appears wakes no waiter.
        time.sleep(0.005)
    with httpx.Client(transport=httpx.HTTPTransport(uds=str(path), retries=50), timeout=PATIENCE) as client:
        assert client.get("http://first/healthz").json() == {"isWell": True}
    process.terminate()
    assert process.wait(PATIENCE) == 0


@pytest.mark.process
def test_listens_at_a_socket_that_a_killed_process_left(ledger, tmp_path):
    path = tmp_path / "api.sock"
    with CoordinatorProcess(ledger, "--open-role", "viewer", listen=str(path)) as api:
        second = subprocess.run(
            [str(SLUICE), "coordinator", "--listen", str(path)], env=environment(**ledger.variables),
            capture_output=True, text=True
        )
        assert second.returncode != 0 and "another process listens" in second.stderr
        api.process.kill()
        api.process.wait()
        with CoordinatorProcess(ledger, "--open-role", "viewer", listen=str(path)) as after:
            assert oct(os.stat(path).st_mode & 0o777) == "0o660"
            with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), timeout=PATIENCE) as client:
                assert client.get("http://api/healthz").json() == {"isWell": True}
        assert not path.exists()
        # The end of the first is checked by its own block.
        api.process = after.process


@pytest.mark.parametrize("words, why", [
    (["--listen", "0.0.0.0:0"], "clear text"),
    (["--listen", "0.0.0.0:0", "--insecure-http", "--open-role", "viewer"], "this machine only"),
    (["--listen", "nowhere"], "must be a port"),
    (["--listen", "systemd"], "handed over no socket"),
    (["--open-role", "viewer"], "needs --listen"),
    (["--listen", "/" + "x" * 200], "longer than 107"),
])
def test_refuses_to_listen(ledger, words, why):
    ended = subprocess.run(
        [str(SLUICE), "coordinator", *words], env=environment(**ledger.variables), capture_output=True, text=True
    )
    assert ended.returncode != 0 and why in ended.stderr.replace("\n       ", " "), ended.stderr


def test_serves_metrics(api, operator):
    api.post("/api/v1/batches", {"queue": "metered", "jobs": jobs(3)})
    plain = operator.client.get("/metrics")
    assert plain.headers["content-type"].startswith("text/plain; version=0.0.4")
    end = time.monotonic() + PATIENCE
    while 'sluice_jobs{queue="metered",state="waiting"} 3' not in operator.client.get("/metrics").text:
        assert time.monotonic() < end
        # Housekeeping folds the counts about once a second.
        time.sleep(0.1)
    modern = operator.client.get("/metrics", headers={"accept": "application/openmetrics-text;version=1.0.0,*/*;q=0.1"})
    assert modern.headers["content-type"].startswith("application/openmetrics-text") and modern.text.endswith("# EOF\n")
    problem(api.ask("GET", "/metrics"), 403, "role_not_fit")
