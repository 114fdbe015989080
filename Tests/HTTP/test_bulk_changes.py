"""Changes that the ledger keeps: whoever asked may go away, coordinators may die, and what waits can be taken back."""

import concurrent.futures
import contextlib
import json
import os
import signal
import subprocess
import time

import pytest

from coordinators import Coordinator, CoordinatorProcess, takes_less_than
from terminal import PATIENCE, SLUICE, environment, stop
from test_access import token
from test_operations import jobs, lines, problem


@pytest.fixture
def guarded(ledger):
    with Coordinator(ledger) as api:
        api.client.headers.update(token(ledger, "submitter", name="ci"))
        yield api


def submit(api, count, **query):
    answer = api.client.post(
        "/api/v1/batches", params=query, content=lines(jobs(count)), headers={"content-type": "application/x-ndjson"}
    )
    assert answer.status_code == 201, answer.text
    return answer.json()["batch"]


def begin(api, change, filter, **more):
    answer = api.post("/api/v1/bulk-changes", {"change": change, "filter": filter, **more})
    assert answer.status_code == 202, answer.text
    return answer.json()["number"]


def ended(api, number, *phases):
    end = time.monotonic() + PATIENCE
    while (bulk := api.get(f"/api/v1/bulk-changes/{number}"))["phase"] not in phases:
        assert time.monotonic() < end, bulk
        # Nothing tells when it has ended.
        time.sleep(0.05)
    return bulk


# The calls that wait for a lock.
WAITING = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query ~ '{}'"


def wait_for_calls(ledger, function, count=1):
    end = time.monotonic() + PATIENCE
    while int(ledger.query(WAITING.format(function))) < count:
        assert time.monotonic() < end, f"no {function} waits"
        # The server does not tell when a call begins to wait.
        time.sleep(0.05)


def end_calls(ledger):
    """Ends the pages of coordinators that are gone: the server notices the end of a client when it answers."""
    ledger.query("select pg_terminate_backend(pid, 60000) from pg_stat_activity where query ~ 'step_change' "
                 "and pid <> pg_backend_pid()")


@contextlib.contextmanager
def held_pages(ledger, change, count=1):
    """Makes bulk changes whose first pages wait until the block ends, so that none of them is over before."""
    with ledger.hold("lock table sluice.lock_finished"):
        made = change()
        wait_for_calls(ledger, "step_change", count)
        yield made


def counts(api, batch):
    return {state: count for state, count in api.get(f"/api/v1/batches/{batch}")["jobs"].items() if count}


def priorities(ledger):
    return ledger.query(
        "select l.priority || ' ' || count(*) from sluice.waiting w join sluice.lane l on l.id = w.lane group by l.priority order by 1"
    ).split("\n")


def test_cancels_and_takes_it_back(guarded):
    batch = submit(guarded, 2_500)
    other = submit(guarded, 3)
    number = begin(guarded, "cancel", {"batch": batch})
    bulk = ended(guarded, number, "done")
    assert (bulk["expected"], bulk["seen"], bulk["changed"], bulk["undone"]) == (2_500, 2_500, 2_500, 0)
    assert (bulk["submitter"], bulk["token"], bulk["change"]) == ("token:ci", "ci", "cancel")
    assert counts(guarded, batch)["cancelled"] == 2_500 and counts(guarded, other)["waiting"] == 3
    guarded.post(f"/api/v1/bulk-changes/{number}", {"wish": "undo"})
    assert ended(guarded, number, "undone")["undone"] == 2_500
    assert counts(guarded, batch) == {"waiting": 2_500}
    # Nothing is undone twice.
    guarded.post(f"/api/v1/bulk-changes/{number}", {"wish": "undo"})
    assert ended(guarded, number, "undone")["undone"] == 2_500


def test_jobs_that_may_not_start_yet_are_delayed_again(guarded):
    batch = submit(guarded, 1_200, runAt="2099-01-01T00:00:00Z")
    assert counts(guarded, batch) == {"delayed": 1_200}
    number = begin(guarded, "cancel", {"batch": batch, "state": ["delayed"]})
    assert ended(guarded, number, "done")["changed"] == 1_200
    guarded.post(f"/api/v1/bulk-changes/{number}", {"wish": "undo"})
    assert ended(guarded, number, "undone")["undone"] == 1_200
    assert counts(guarded, batch) == {"delayed": 1_200}
    # A retry that is taken back cancels them.
    number = begin(guarded, "cancel", {"batch": batch})
    assert ended(guarded, number, "done")["changed"] == 1_200
    number = begin(guarded, "retry", {"batch": batch, "state": ["cancelled"]})
    assert ended(guarded, number, "done")["changed"] == 1_200
    assert counts(guarded, batch) == {"delayed": 1_200}
    guarded.post(f"/api/v1/bulk-changes/{number}", {"wish": "undo"})
    assert ended(guarded, number, "undone")["undone"] == 1_200
    assert counts(guarded, batch) == {"cancelled": 1_200}


def test_gives_back_the_earlier_priorities(guarded, ledger):
    for count, priority in [(1_200, -3), (800, 4), (5, 9)]:
        submit(guarded, count, priority=priority)
    number = begin(guarded, "prioritize", {}, priority=9)
    assert ended(guarded, number, "done")["changed"] == 2_000
    assert priorities(ledger) == ["9 2005"]
    # Some of them are no longer waiting.
    guarded.post("/api/v1/changes", {"change": "cancel", "filter": {"id": [1, 2, 1201]}})
    guarded.post(f"/api/v1/bulk-changes/{number}", {"wish": "undo"})
    assert ended(guarded, number, "undone")["undone"] == 1_997
    assert priorities(ledger) == ["-3 1198", "4 799", "9 5"]


def test_takes_back_retries_that_still_wait(guarded):
    batch = submit(guarded, 10)
    guarded.post("/api/v1/changes", {"change": "cancel", "filter": {"batch": batch}})
    number = begin(guarded, "retry", {"batch": batch, "state": ["cancelled"]})
    assert ended(guarded, number, "done")["changed"] == 10
    assert counts(guarded, batch) == {"waiting": 10}
    guarded.post(f"/api/v1/bulk-changes/{number}", {"wish": "undo"})
    assert ended(guarded, number, "undone")["undone"] == 10
    assert counts(guarded, batch) == {"cancelled": 10}


def failed(api, ledger, folder, count):
    """A batch whose jobs have all failed."""
    for name in ["in", "out"]:
        (folder / name).mkdir()
    for number in range(count):
        (folder / f"in/{number}.wav").write_bytes(b"no sound at all")
    bad = [{"source": f"in:{number}.wav", "output": f"out:{number}.flac"} for number in range(count)]
    answer = api.post("/api/v1/batches", {"jobs": bad})
    assert answer.status_code == 201, answer.text
    batch = answer.json()["batch"]
    worker = ledger.start("worker", "--root", f"in={folder}/in", "--root", f"out={folder}/out", "--slots", "1")
    end = time.monotonic() + PATIENCE
    while counts(api, batch) != {"failed": count}:
        assert time.monotonic() < end, counts(api, batch)
        # Nothing tells when they have ended.
        time.sleep(0.05)
    worker.terminate()
    assert worker.wait(PATIENCE) == 0
    return batch


@pytest.mark.process
def test_accepts_failures_and_takes_it_back(guarded, ledger, tmp_path):
    batch = failed(guarded, ledger, tmp_path, 3)
    number = begin(guarded, "accept", {"batch": batch})
    bulk = ended(guarded, number, "done")
    assert (bulk["change"], bulk["expected"], bulk["changed"]) == ("accept", 3, 3) and "undo" not in bulk
    assert counts(guarded, batch) == {"accepted": 3}
    accepted = guarded.get(f"/api/v1/jobs?state=accepted&batch={batch}")["jobs"]
    assert [job["acceptedBy"] for job in accepted] == ["token:ci"] * 3 and all("acceptedAt" in job for job in accepted)
    [group] = guarded.get(f"/api/v1/failures?batch={batch}")["failures"]
    assert (group["jobs"], group["accepted"]) == (0, 3)
    # Another takes one back and accepts it anew, which stays.
    one = {"change": "accept", "filter": {"id": [accepted[0]["id"]]}}
    assert guarded.post("/api/v1/changes", {**one, "undo": True}).json()["changed"] == 1
    assert guarded.post("/api/v1/changes", one).json()["changed"] == 1
    guarded.post(f"/api/v1/bulk-changes/{number}", {"wish": "undo"})
    assert ended(guarded, number, "undone")["undone"] == 2
    assert counts(guarded, batch) == {"failed": 2, "accepted": 1}
    # In parts, as the command asks for it.
    change = {"change": "accept", "filter": {"batch": batch}, "limit": 1}
    assert guarded.post("/api/v1/changes", {**change, "preview": True}).json()["jobs"] == 2
    changed, after = 0, {}
    while after is not None:
        part = guarded.post("/api/v1/changes", {**change, **after}).json()
        changed += part["changed"]
        after = {"after": part["next"]} if "next" in part else None
    assert changed == 2 and counts(guarded, batch) == {"accepted": 3}
    # A retry ends it, and does so only if such jobs are wanted.
    assert guarded.post("/api/v1/changes", {"change": "retry", "filter": {"batch": batch}}).json()["changed"] == 0
    again = {"change": "retry", "filter": {"batch": batch, "state": ["accepted"]}}
    assert guarded.post("/api/v1/changes", again).json()["changed"] == 3
    assert counts(guarded, batch) == {"waiting": 3}


@pytest.mark.process
def test_another_coordinator_goes_on(ledger, guarded):
    batch = submit(guarded, 30)
    with CoordinatorProcess(ledger) as doomed:
        doomed.client.headers.update(guarded.client.headers)
        # It takes up no change until the first coordinator is gone.
        stop(guarded.pid)
        try:
            with held_pages(ledger, lambda: begin(doomed, "cancel", {"batch": batch})) as number:
                doomed.process.kill()
                doomed.process.wait(PATIENCE)
                end_calls(ledger)
        finally:
            os.kill(guarded.pid, signal.SIGCONT)
        bulk = ended(guarded, number, "done")
        assert (bulk["seen"], bulk["changed"]) == (30, 30)
        assert counts(guarded, batch) == {"cancelled": 30}
        doomed.client.close()
        doomed.__enter__()


class PrivateCoordinator(CoordinatorProcess):
    """As the supervisor of a private cluster starts it: the only one of its ledger."""

    def start(self, variables):
        folder = self.ledger.folder / "links"
        folder.mkdir(mode=0o700, exist_ok=True)
        super().start({**variables, "SLUICE_PAGE_LINKS": str(folder)})


@pytest.mark.process
def test_the_only_coordinator_goes_on_after_a_restart(ledger):
    """It rests for a minute at a time, but not when it has just begun."""
    headers = token(ledger, "submitter", name="ci")
    with PrivateCoordinator(ledger) as coordinator:
        coordinator.client.headers.update(headers)

        def restart(_):
            batch = submit(coordinator, 10)
            with held_pages(ledger, lambda: begin(coordinator, "cancel", {"batch": batch})) as number:
                coordinator.process.kill()
                coordinator.process.wait(PATIENCE)
                coordinator.client.close()
                end_calls(ledger)
                ledger.query("update sluice.bulk_change set stepped_at = clock_timestamp() where phase = 'running'")
            start = time.monotonic()
            coordinator.__enter__()
            coordinator.client.headers.update(headers)
            bulk = ended(coordinator, number, "done")
            assert (bulk["seen"], bulk["changed"]) == (10, 10)
            return time.monotonic() - start

        # The ledger offers the change again after ten seconds, and a coordinator that rests would ask after sixty.
        takes_less_than(50, restart)


def test_is_seen_and_steered_by_those_who_may(ledger, guarded):
    batch = submit(guarded, 2)
    number = begin(guarded, "cancel", {"batch": batch})
    ended(guarded, number, "done")
    path = f"/api/v1/bulk-changes/{number}"
    ledger.run("tenants", "create", "radio")
    stranger = token(ledger, "submitter", "--tenant", "radio", name="stranger")
    problem(guarded.ask("GET", path, headers=stranger), 404, "no_such_thing")
    problem(guarded.post(path, {"wish": "undo"}, headers=stranger), 404, "no_such_thing")
    assert guarded.get("/api/v1/bulk-changes", headers=stranger) == {"changes": []}
    other = token(ledger, "submitter", name="other")
    assert guarded.ask("GET", path, headers=other).status_code == 200
    problem(guarded.post(path, {"wish": "undo"}, headers=other), 403, "ledger_permission_denied")
    viewer = token(ledger, "viewer", name="looker")
    assert [bulk["number"] for bulk in guarded.get("/api/v1/bulk-changes", headers=viewer)["changes"]] == [number]
    # Of what others submitted, a submitter changes nothing.
    mine = begin(guarded, "cancel", {})
    ended(guarded, mine, "done")
    theirs = guarded.post("/api/v1/bulk-changes", {"change": "retry", "filter": {"state": ["cancelled"]}}, headers=other)
    assert ended(guarded, theirs.json()["number"], "done")["changed"] == 0
    steward = token(ledger, "operator", name="steward")
    assert guarded.post(path, {"wish": "undo"}, headers=steward).status_code == 200
    assert ended(guarded, number, "undone")["undone"] == 2


def test_stops(ledger, guarded):
    batch = submit(guarded, 10_500)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        with held_pages(ledger, lambda: begin(guarded, "cancel", {"batch": batch})) as number:
            asked = pool.submit(guarded.post, f"/api/v1/bulk-changes/{number}", {"wish": "stop"})
            # It waits for the row that each page holds, and the server gives rows in no order: it comes after one of ten pages.
            wait_for_calls(ledger, "wish_change")
        assert asked.result().status_code == 200
    bulk = ended(guarded, number, "stopped")
    changed = bulk["changed"]
    assert changed in range(1_000, 10_001, 1_000)
    assert counts(guarded, batch) == {"cancelled": changed, "waiting": 10_500 - changed}
    guarded.post(f"/api/v1/bulk-changes/{number}", {"wish": "undo"})
    assert ended(guarded, number, "undone")["undone"] == changed
    assert counts(guarded, batch) == {"waiting": 10_500}


def test_says_why_it_failed(guarded, ledger):
    ledger.query("update sluice.setting set lanes_per_submitter = 2")
    batch = submit(guarded, 2)
    submit(guarded, 1, priority=3)
    number = begin(guarded, "prioritize", {"batch": batch}, priority=7)
    bulk = ended(guarded, number, "failed", "done")
    assert bulk["phase"] == "failed" and bulk["error"] and bulk["changed"] == 0


def test_a_token_for_a_queue_steers_no_changes_of_others(ledger, guarded):
    submit(guarded, 2)
    number = begin(guarded, "cancel", {})
    ended(guarded, number, "done")
    nightly = token(ledger, "operator", "--queue", "nightly", name="nightly-1")
    for wish in ["stop", "undo"]:
        answer = guarded.post(f"/api/v1/bulk-changes/{number}", {"wish": wish}, headers=nightly)
        problem(answer, 403, "ledger_permission_denied")
    own = guarded.post("/api/v1/bulk-changes", {"change": "cancel", "filter": {"queue": "nightly"}}, headers=nightly)
    assert ended(guarded, own.json()["number"], "done")["changed"] == 0
    undone = guarded.post(f"/api/v1/bulk-changes/{own.json()['number']}", {"wish": "undo"}, headers=nightly)
    assert undone.status_code == 200


def test_a_revoked_token_changes_nothing_more(ledger, guarded):
    batch = submit(guarded, 1_500)
    with held_pages(ledger, lambda: begin(guarded, "cancel", {"batch": batch})) as number:
        ledger.run("tokens", "revoke", "1")
    # The coordinator knows the token for some seconds yet, so another one asks.
    guarded.client.headers.update(token(ledger, "viewer", name="looker"))
    bulk = ended(guarded, number, "stopped")
    # The page that had begun is made.
    assert "revoked" in bulk["error"] and bulk["changed"] == 1_000, bulk


def test_the_audit_says_who_stopped_and_undid(ledger, guarded):
    batch = submit(guarded, 2_500)
    number = begin(guarded, "cancel", {"batch": batch})
    ended(guarded, number, "done")
    steward = token(ledger, "operator", name="steward")
    guarded.post(f"/api/v1/bulk-changes/{number}", {"wish": "undo"}, headers=steward)
    ended(guarded, number, "undone")
    audit = [json.loads(line) for line in ledger.run("audit", "--json").splitlines()]
    rows = [(row["who"], row["what"], row["affected"]) for row in audit if "token" not in row["what"]]
    assert rows == [
        ("token:ci", "undo_jobs", 2_500), ("token:steward", "undo_change", 1), ("token:ci", "cancel_jobs", 2_500),
        ("token:ci", "start_change", 1),
    ], rows
    assert audit[0]["details"] == {"change": number, "by": "token:steward"}


def test_what_others_cancelled_stays_cancelled(guarded):
    batch = submit(guarded, 4)
    number = begin(guarded, "cancel", {"batch": batch})
    ended(guarded, number, "done")
    first = guarded.get(f"/api/v1/jobs?batch={batch}")["jobs"][0]["id"]
    for change in ["retry", "cancel"]:
        guarded.post("/api/v1/changes", {"change": change, "filter": {"id": [first]}})
    guarded.post(f"/api/v1/bulk-changes/{number}", {"wish": "undo"})
    assert ended(guarded, number, "undone")["undone"] == 3
    assert counts(guarded, batch) == {"waiting": 3, "cancelled": 1}


def test_many_changes_disturb_no_requests(ledger, guarded):
    callers = [token(ledger, "submitter", name=f"ci-{number}") for number in range(6)]

    def change():
        numbers = []
        # Of one caller, two are carried out at a time.
        for caller in callers * 2:
            guarded.client.headers.update(caller)
            numbers.append(begin(guarded, "cancel", {"batch": submit(guarded, 2)}))
        return numbers

    # Those that a coordinator carries out at a time wait for the lock, and keep their connections.
    with held_pages(ledger, change, 2) as numbers:
        assert guarded.client.get("/readyz").status_code == 200
        assert len(guarded.get("/api/v1/jobs?state=waiting")["jobs"]) == 24
        assert ledger.query("select count(*) from sluice.bulk_change where ended_at is null") == "12"
    for number in numbers:
        assert ended(guarded, number, "done")["changed"] == 2


def test_the_command_lists_stops_and_undoes(ledger, tmp_path):
    """The same over HTTP and with the database."""
    with Coordinator(ledger, "--open-role", "submitter") as api, Coordinator(ledger, "--open-role", "operator") as boss:
        api.post("/api/v1/batches", {"jobs": jobs(30)})
        number = boss.post("/api/v1/bulk-changes", {"change": "cancel", "filter": {"state": ["waiting"]}}).json()["number"]
        end = time.monotonic() + PATIENCE
        while boss.get(f"/api/v1/bulk-changes/{number}")["phase"] == "running":
            assert time.monotonic() < end
            # A bulk change gives no notice of its end.
            time.sleep(0.05)
        over = {"SLUICE_URL": boss.url}
        for words in [["changes"], ["changes", "--json"], ["changes", "-q"], ["changes", "show", str(number)],
                      ["changes", "show", str(number), "--json"]]:
            assert ledger.run(*words) == ledger.run(*words, **over), words
        assert "cancel" in ledger.run("changes") and ledger.run("changes", "-q") == f"{number}\n"
        for variables in [over, {}]:
            missing = subprocess.run([str(SLUICE), "changes", "undo", str(number), "99"], cwd=tmp_path,
                                     env=environment(**ledger.variables, **variables), capture_output=True, text=True)
            assert missing.returncode == 4 and "no such bulk change 99" in missing.stderr, missing
        assert boss.get(f"/api/v1/bulk-changes/{number}")["phase"] == "done"
        told = json.loads(ledger.run("changes", "undo", str(number), "--json", **over))
        assert told["phase"] in ["undoing", "undone"], told
        while boss.get("/api/v1/counts?state=waiting")["jobs"] < 30:
            assert time.monotonic() < end
            # As above.
            time.sleep(0.05)
        ledger.run("changes", "stop", str(number), **over)


def test_undoing_a_page_leaves_the_rest_of_the_audit_alone(ledger):
    """A page of an undo removes the rows of the audit that its own calls have added, and no others."""
    ledger.run("submit", "in:a.wav", "in:b.wav", "--to", "out:{stem}.flac", "--quiet")
    step = "select sluice.step_change(1)"
    # As a coordinator begins one, but without a token.
    ledger.query("""
        insert into sluice.bulk_change (request, token, role_name, change, filter, arguments, expected)
        values (gen_random_uuid(), 'none', 'sluice_operator', 'cancel', '{}', '{}', 2)
    """)
    # The second page is empty, and ends it.
    for _ in range(2):
        ledger.query(step)
    assert ledger.query("select phase, changed from sluice.bulk_change") == "done|2"
    ledger.query("select sluice.wish_change(1, 'undo')")
    ledger.query("""
        insert into sluice.audit (at, who, what, details, affected, ended_at)
        select now(), session_user, 'retry_jobs', '{}', 1, now() from generate_series(1, 20000)
    """)
    ledger.query(step)
    assert ledger.query("select undone from sluice.bulk_change") == "2"
    told = ledger.query("select what, affected, count(*) from sluice.audit where what like '%undo_jobs' group by 1, 2")
    assert told == "undo_jobs|2|1", told
    assert ledger.query("select count(*) from sluice.audit where what = 'retry_jobs'") == "20000"


def test_the_changes_of_one_submitter_hold_up_no_other(ledger):
    ledger.query(
        """
        insert into sluice.bulk_change (request, submitter, token, role_name, change, filter, expected)
        select gen_random_uuid(), 'token:' || t, t, 'sluice_submitter', 'cancel', '{}', 0
        from unnest(array['late', 'late', 'late', 'late', 'other']) t
        """
    )
    take = "select string_agg(token, ' ' order by id) from sluice.take_changes({})"
    assert ledger.query(take.format(4)) == "late late other"
    assert ledger.query(take.format(4)) == ""
    ledger.query("update sluice.bulk_change set phase = 'done', ended_at = now() where id = 1")
    assert ledger.query(take.format(4)) == "late"
