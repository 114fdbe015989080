"""What a tenant is told of its limits, and what they do to its submissions."""

import json

import pytest

from coordinators import Coordinator
from test_access import token
from test_operations import jobs, problem
from test_remote import run, sources


@pytest.fixture
def guarded(ledger):
    """A coordinator that serves nobody without a token."""
    with Coordinator(ledger) as api:
        yield api


def tenant(ledger, *limits):
    """Creates the tenant "acme" with these limits; the headers of a submitter of its own."""
    ledger.run("tenants", "create", "acme")
    if limits:
        ledger.run("tenants", "limit", "acme", *limits)
    return token(ledger, "submitter", "--tenant", "acme", name="acme-1")


def test_a_tenant_is_told_its_limits_and_its_use(ledger, guarded):
    acme = tenant(ledger, "--cpu-minutes", "60", "--output-bytes", "1000", "--writes", "out:")
    answer = guarded.get("/api/v1/tenant", headers=acme)
    assert answer == {"tenant": "acme", "cpuMinutes": 60, "outputBytes": 1000, "writes": ["out:"],
                      "cpuSecondsUsed": 0, "outputBytesUsed": 0}
    problem(guarded.ask("GET", "/api/v1/tenant", headers=token(ledger, "operator")), 404, "no_such_thing")


def test_a_tenant_that_has_used_up_its_day_is_told_so(ledger, guarded, tmp_path):
    acme = tenant(ledger, "--output-bytes", "1000")
    ledger.run("tenants", "create", "zenith")
    other = token(ledger, "submitter", "--tenant", "zenith", name="z")
    boss = token(ledger, "operator", name="boss")
    batch = guarded.post("/api/v1/batches", {"jobs": jobs(2)}, headers=acme).json()
    assert guarded.get("/api/v1/holds", headers=boss) == {"holds": []}
    ledger.query("insert into sluice.use_delta (tenant, cpu_ms, bytes, at) values ('acme', 60000, 1000, now())")
    ledger.query("update sluice.chore set due_at = '-infinity' where name = 'fold_use'")
    ledger.query("select sluice.do_chore('fold_use')")
    for headers in [acme, boss]:
        [hold] = guarded.get("/api/v1/holds", headers=headers)["holds"]
        assert (hold["tenant"], hold["heldFor"]) == ("acme", "output_bytes")
    assert guarded.get("/api/v1/holds", headers=other) == {"holds": []}
    answer = guarded.get("/api/v1/tenant", headers=acme)
    assert (answer["cpuSecondsUsed"], answer["outputBytesUsed"]) == (60, 1000)
    assert answer["heldUntil"] == hold["heldUntil"]
    job = guarded.get(f"/api/v1/jobs/{batch['firstJob']}", headers=acme)
    assert (job["waitingFor"], job["readyAt"]) == ("output_bytes", hold["heldUntil"])
    # Submissions are accepted meanwhile.
    assert guarded.post("/api/v1/batches", {"jobs": jobs(1)}, headers=acme).status_code == 201
    status = run(tmp_path, "status", SLUICE_URL=guarded.url, SLUICE_TOKEN=boss["authorization"].removeprefix("Bearer "))
    note = "jobs of tenant acme wait: it has used up its bytes of outputs of 24 hours; they continue in "
    assert note in status.stdout + status.stderr
    own = run(tmp_path, "status", SLUICE_URL=guarded.url, SLUICE_TOKEN=acme["authorization"].removeprefix("Bearer "))
    assert note in own.stderr and "all well" not in own.stdout
    assert any(note in text for text in guarded.get("/api/v1/status", headers=acme)["notes"])
    assert guarded.get("/api/v1/status", headers=other)["notes"] == []
    assert "for its tenant, which has used up its bytes of outputs" in ledger.run("job", str(batch["firstJob"]))
    [row] = [json.loads(line) for line in ledger.run("tenants", "--json").splitlines() if "acme" in line]
    assert (row["heldFor"], row["outputBytesUsed"], row["cpuSecondsUsed"]) == ("output_bytes", 1000, 60)
    # Without jobs that wait there is nothing to say.
    guarded.post("/api/v1/changes", {"change": "cancel", "filter": {}}, headers=acme)
    for headers in [acme, boss]:
        assert guarded.get("/api/v1/holds", headers=headers) == {"holds": []}
        assert not any("acme" in text for text in guarded.get("/api/v1/status", headers=headers)["notes"])


# MARK: - Destinations

TEMPLATE = "out:{tenant}/{label}/{dir}/{stem}.{ext}"


def submit(api, headers, *items, **settings):
    return api.post("/api/v1/batches", {"jobs": list(items), **settings}, headers=headers)


def outputs(api, headers, receipt):
    numbers = range(receipt["firstJob"], receipt["lastJob"] + 1)
    stories = [api.get(f"/api/v1/jobs/{number}", headers=headers) for number in numbers]
    return [(story["recipe"]["outputs"][0]["location"], story["needs"]) for story in stories]


def test_a_template_makes_the_destinations(ledger, guarded):
    acme = tenant(ledger, "--destination", TEMPLATE)
    assert guarded.get("/api/v1/tenant", headers=acme)["destination"] == TEMPLATE
    items = [{"source": "in:a/x.wav", "preset": "podcast-mp3"}, {"source": "in:y.wav", "preset": "opus-96"},
             {"source": "in:z.wav", "output": "out:acme/elsewhere/z.flac"}]
    receipt = submit(guarded, acme, *items, name="monday").json()
    made = outputs(guarded, acme, receipt)
    assert [place for place, _ in made] == ["out:acme/monday/a/x.mp3", "out:acme/monday/y.opus", "out:acme/elsewhere/z.flac"]
    # What a worker needs follows from the destination.
    assert "root:out" in made[0][1] and "codec:mp3" in made[0][1]
    # As JSON Lines, too.
    body = "".join(json.dumps(item) + "\n" for item in items[:2])
    answer = guarded.ask("POST", "/api/v1/batches?name=tuesday", content=body,
                         headers={**acme, "content-type": "application/x-ndjson"})
    assert [place for place, _ in outputs(guarded, acme, answer.json())] == ["out:acme/tuesday/a/x.mp3", "out:acme/tuesday/y.opus"]
    # Others choose, and must.
    other = token(ledger, "submitter", name="other")
    found = problem(submit(guarded, other, {"source": "in:a.wav"}), 400, "bad_body")
    assert found["errors"][0]["pointer"] == "/jobs/0/output"
    assert submit(guarded, other, {"source": "in:a.wav", "output": "out:tv/a.flac"}).status_code == 201


LONG = "n" * 250


@pytest.mark.parametrize(("item", "pointer"), [
    ({"source": "in:a.wav", "output": "out:zenith/a.flac"}, "/jobs/0/output"),
    ({"source": "in:a.wav", "output": "out:acme"}, "/jobs/0/output"),
    ({"source": "in:a.wav", "output": "in:acme/a.flac"}, "/jobs/0/output"),
    ({"recipe": {"version": 2, "sources": [{"location": "in:a.wav"}], "outputs": [{"location": "out:acme/a.flac"},
                 {"location": "out:zenith/a.flac"}]}}, "/jobs/0/recipe/outputs/1/location"),
    ({"source": "in:a.wav"}, "/jobs/0/preset"),
    ({"source": f"in:{LONG}.wav", "preset": "podcast-mp3"}, None),
    ({"source": f"in:{LONG}123456.wav", "preset": "podcast-mp3"}, "/jobs/0/source"),
])
def test_another_destination_is_refused(ledger, guarded, item, pointer):
    acme = tenant(ledger, "--destination", "out:{tenant}/{stem}.{ext}")
    answer = submit(guarded, acme, item)
    if pointer is None:
        assert answer.status_code == 201
        return
    found = problem(answer, 400, "bad_destination")
    assert found["errors"][0]["pointer"] == pointer and found["hint"], found
    line = guarded.ask("POST", "/api/v1/batches", content=json.dumps(item) + "\n",
                       headers={**acme, "content-type": "application/x-ndjson"})
    assert problem(line, 400, "bad_destination")["errors"][0]["pointer"] == pointer.removeprefix("/jobs/0")
    assert guarded.get("/api/v1/jobs", headers=acme) == {"jobs": []}


@pytest.mark.parametrize(("item", "pointer"), [
    ({"source": "in:a.wav", "preset": "no-such"}, "/jobs/0/preset"),
    ({"source": "in:../a.wav", "preset": "podcast-mp3"}, "/jobs/0/source"),
    ({"source": "in:a\u0001.wav", "preset": "podcast-mp3"}, "/jobs/0/source"),
    ({"source": "/etc/passwd", "preset": "podcast-mp3"}, "/jobs/0/source"),
])
def test_what_is_wrong_without_a_template_is_not_blamed_on_it(ledger, guarded, item, pointer):
    acme = tenant(ledger, "--destination", "out:{tenant}/{stem}.{ext}")
    found = problem(submit(guarded, acme, item), 400, "bad_body")
    assert found["errors"][0]["pointer"] == pointer, found
    line = guarded.ask("POST", "/api/v1/batches", content=json.dumps(item) + "\n",
                       headers={**acme, "content-type": "application/x-ndjson"})
    assert problem(line, 400, "bad_body")["errors"][0]["pointer"] == pointer.removeprefix("/jobs/0")


@pytest.mark.parametrize("name", [None, "..", "a/b", "/", "a\u0007", LONG])
def test_a_name_that_is_no_folder_is_refused(ledger, guarded, name):
    acme = tenant(ledger, "--destination", TEMPLATE)
    settings = {} if name is None else {"name": name[:200]}
    answer = submit(guarded, acme, {"source": "in:a.wav", "preset": "podcast-mp3"}, **settings)
    if name == LONG:
        assert answer.status_code == 201
    else:
        problem(answer, 400, "bad_destination")
        assert guarded.get("/api/v1/batches", headers=acme) == {"batches": []}


def test_two_sources_with_one_name_are_refused(ledger, guarded):
    acme = tenant(ledger, "--destination", "out:{tenant}/{stem}.{ext}")
    items = [{"source": f"in:{folder}/a.wav", "preset": "podcast-mp3"} for folder in ["one", "two"]]
    found = problem(submit(guarded, acme, *items), 400, "bad_destination")
    assert found["errors"] == [{"pointer": "/jobs/1/source",
                                "detail": "has the same destination as an earlier job, out:acme/a.mp3"}]
    assert submit(guarded, acme, items[0]).status_code == 201


def test_the_ledger_refuses_what_a_coordinator_lets_pass(ledger, guarded):
    """The check of the ledger is that of `writes`, so it also holds for templates."""
    acme = tenant(ledger, "--destination", "out:{tenant}/{stem}.{ext}", "--writes", "out:acme/deep/")
    answer = submit(guarded, acme, {"source": "in:a.wav", "output": "out:acme/a.flac"})
    problem(answer, 403, "ledger_permission_denied")
    assert submit(guarded, acme, {"source": "in:a.wav", "output": "out:acme/deep/a.flac"}).status_code == 201


def test_the_command_takes_the_template(ledger, guarded, tmp_path):
    headers = tenant(ledger, "--destination", TEMPLATE)
    variables = {"SLUICE_URL": guarded.url, "SLUICE_TOKEN": headers["authorization"].removeprefix("Bearer ")}
    names = sources(tmp_path, 2)
    words = ["submit", *names, "--root", f"in={tmp_path}", "--preset", "podcast-mp3"]
    unnamed = run(tmp_path, *words, **variables)
    assert unnamed.returncode == 2 and "no value for {label}" in unnamed.stderr, unnamed.stderr
    done = run(tmp_path, *words, "--label", "mon{day}", "--json", **variables)
    assert done.returncode == 0, done.stderr
    listed = [row["recipe"]["outputs"][0]["location"] for row in
              (guarded.get(f"/api/v1/jobs/{number}", headers=headers) for number in [1, 2])]
    assert listed == ["out:acme/mon{day}/talk-0.mp3", "out:acme/mon{day}/talk-1.mp3"]
    refused = run(tmp_path, *words, "--to", "out:zenith/{stem}.mp3", **variables)
    assert refused.returncode != 0 and "out:acme/" in refused.stderr, refused.stderr
    other = token(ledger, "submitter", name="other")["authorization"].removeprefix("Bearer ")
    missing = run(tmp_path, *words, SLUICE_URL=guarded.url, SLUICE_TOKEN=other)
    assert missing.returncode == 2 and "--to is missing" in missing.stderr


# MARK: - Limits of jobs

def test_the_answer_says_what_is_clamped(ledger, guarded, tmp_path):
    acme = tenant(ledger, "--job-time", "10min", "--job-bytes", "1GiB", "--max-outputs", "1")
    assert guarded.get("/api/v1/tenant", headers=acme)["jobLimits"] == {"wallSeconds": 600, "outputBytes": 1 << 30}

    def item(limits, *more):
        outputs = [{"location": f"out:{name}"} for name in ["a.flac", *more]]
        return {"recipe": {"version": 2, "sources": [{"location": "in:a.wav"}], "outputs": outputs, "limits": limits}}

    answer = submit(guarded, acme, item({"wallSeconds": 600}), item({"wallSeconds": 601, "openSeconds": 5}))
    assert answer.status_code == 201 and answer.json()["clamped"] == ["wallSeconds"]
    assert "clamped" not in submit(guarded, acme, item({"wallSeconds": 5})).json()
    body = json.dumps(item({"outputBytes": 1 << 40, "wallSeconds": 900})) + "\n"
    answer = guarded.ask("POST", "/api/v1/batches", content=body, headers={**acme, "content-type": "application/x-ndjson"})
    assert answer.json()["clamped"] == ["outputBytes", "wallSeconds"]
    found = problem(submit(guarded, acme, item({}, "b.flac")), 403, "ledger_permission_denied")
    assert "may make 1 outputs" in found["detail"]
    # Others have the workers' limits.
    house = token(ledger, "submitter", name="house")
    assert "clamped" not in submit(guarded, house, item({"wallSeconds": 9_000}, "b.flac")).json()
