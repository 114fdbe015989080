"""What people change on the page of a coordinator: as the API does it, and only from the page itself."""

import html
import json
import re
import time
import urllib.parse

import pytest

from coordinators import Coordinator
from terminal import PATIENCE
from test_operations import jobs
from test_page import form, get, log_in, text_of


@pytest.fixture
def guarded(ledger):
    """A coordinator that serves nobody without a token."""
    with Coordinator(ledger) as api:
        yield api


def send(api, path, fields, headers=None, status=303):
    """Sends a form as a browser does, and returns where that goes then."""
    answer = form(api, path, fields, origin=api.url, **(headers or {}))
    assert answer.status_code == status, answer.text
    return answer.headers["location"] if status == 303 else answer.text


def ended(api, path, *phases, headers=None):
    """Waits until a change of many jobs is in one of these phases."""
    end = time.monotonic() + PATIENCE
    mark = re.compile(f'</h1><p><span class="s [a-z]+">({"|".join(phases)})</span>')
    while not mark.search(page := get(api, path, headers or {})):
        assert time.monotonic() < end, page
        # Nothing tells when it has ended.
        time.sleep(0.05)
    return page


def states(api, batch, **more):
    return {state: count for state, count in api.get(f"/api/v1/batches/{batch}", **more)["jobs"].items() if count}


# MARK: - Queues and workers

def test_a_queue_is_paused_resumed_limited_and_weighted(api, operator):
    api.post("/api/v1/batches", {"jobs": jobs(2), "queue": "nightly"})

    def queue():
        return next(queue for queue in api.get("/api/v1/queues")["queues"] if queue["queue"] == "nightly")

    assert send(operator, "/queues", {"pause": "nightly"}) == "/queues" and queue()["isPaused"]
    assert 'name="resume" value="nightly"' in get(operator, "/", {})
    assert send(operator, "/queues", {"resume": "nightly", "next": "/"}) == "/" and not queue()["isPaused"]
    assert 'name="pause" value="nightly"' in get(operator, "/queues", {})
    send(operator, "/queues", {"queue": "nightly", "limit": "3", "weight": "50"})
    assert (queue()["runningLimit"], queue()["weight"]) == (3, 50)
    # What is left empty stays.
    send(operator, "/queues", {"queue": "nightly", "limit": "0", "weight": ""})
    assert "runningLimit" not in queue() and queue()["weight"] == 50
    assert "/weight" in send(operator, "/queues", {"queue": "nightly", "weight": "0"}, status=400)
    assert "no_such_thing" in send(operator, "/queues", {"pause": "none"}, status=404)
    assert send(operator, "/queues", {"pause": "nightly", "next": "//evil.example/"}) == "/"


def test_an_older_batch_of_a_paused_queue_is_under_way(api, operator):
    old = api.post("/api/v1/batches", {"jobs": jobs(2), "queue": "nightly", "name": "old"}).json()["batch"]
    for _ in range(21):
        api.post("/api/v1/batches", {"jobs": jobs(1)})
    assert f'href="/batches/{old}"' not in get(operator, "/", {})
    send(operator, "/queues", {"pause": "nightly"})
    assert '<bdi>old</bdi></a> <span class="s paused">paused</span>' in get(operator, "/", {})


def test_a_worker_that_does_not_run_is_told(operator):
    assert "no worker 1 is running" in send(operator, "/workers", {"drain": "1"}, status=404).lower()
    send(operator, "/workers", {}, status=400)


# MARK: - Jobs

def test_a_job_is_cancelled_and_retried(api):
    job = api.post("/api/v1/batches", {"jobs": jobs(1)}).json()["firstJob"]
    assert 'value="cancel"' in get(api, f"/jobs/{job}", {})
    assert send(api, f"/jobs/{job}", {"change": "cancel"}) == f"/jobs/{job}"
    assert api.get(f"/api/v1/jobs/{job}")["state"] == "cancelled"
    assert 'value="retry"' in get(api, f"/jobs/{job}", {})
    send(api, f"/jobs/{job}", {"change": "retry:conceal"})
    story = api.get(f"/api/v1/jobs/{job}")
    assert (story["state"], story["recipe"]["damage"]) == ("waiting", "conceal")
    for change in ["", "delete", "retry:all", "prioritize"]:
        send(api, f"/jobs/{job}", {"change": change}, status=400)


def test_many_jobs_are_changed_after_a_preview_and_changed_back(api):
    batch = api.post("/api/v1/batches", {"jobs": jobs(45)}).json()["batch"]
    api.post("/api/v1/batches", {"jobs": jobs(3, "other")})
    page = get(api, f"/changes/preview?change=cancel&batch={batch}", {})
    assert "45 jobs would be cancelled" in page and "Cancel 45 jobs" in page
    # A preview changes nothing.
    assert states(api, batch) == {"waiting": 45}
    fields = dict(re.findall(r'<input type="hidden" name="([a-z-]+)" value="([^"]*)">', page))
    assert fields == {"batch": f"{batch}", "change": "cancel"}
    path = send(api, "/changes", fields)
    page = ended(api, path, "done")
    assert "<dt>changed</dt><dd>45</dd>" in page and 'value="stop"' not in page
    assert states(api, batch) == {"cancelled": 45}
    assert path in get(api, "/changes", {})
    assert send(api, path, {"wish": "undo"}) == path
    assert "<dt>changed back</dt><dd>45</dd>" in ended(api, path, "undone")
    assert states(api, batch) == {"waiting": 45}
    assert "No job that matches can be changed this way" in get(api, f"/changes/preview?change=retry&batch={batch}", {})


def test_selected_jobs_are_changed_within_their_filter(api):
    batch = api.post("/api/v1/batches", {"jobs": jobs(5)}).json()
    first = batch["firstJob"]
    query = f"batch={batch['batch']}&id={first}&id={first + 1}&id={first + 9}"
    page = get(api, f"/changes/preview?change=prioritize&{query}", {})
    assert "2 jobs would move" in page
    fields = {"change": "prioritize", "batch": batch["batch"], "id": f"{first},{first + 1},{first + 9}"}
    assert "/priority" in send(api, "/changes", fields, status=400)
    ended(api, send(api, "/changes", {**fields, "priority": "7"}), "done")
    assert sorted(job["priority"] for job in api.get("/api/v1/jobs")["jobs"]) == [0, 0, 0, 7, 7]


@pytest.mark.parametrize("filter", [
    {"remarks": "true"}, {"state": "gone"}, {"since": "soon"}, {"id": "x"}, {"id": ""}, {"id": ","}, {"status": "failed"},
    {"queue": ""}, {"until": "2026-11-20"},
])
def test_a_filter_is_never_wider_than_what_was_asked_for(api, filter):
    batch = api.post("/api/v1/batches", {"jobs": jobs(2)}).json()["batch"]
    assert "bad_parameter" in send(api, "/changes", {"change": "cancel", **filter}, status=400)
    assert api.client.get("/changes/preview", params={"change": "cancel", **filter}).status_code == 400
    assert states(api, batch) == {"waiting": 2}


def test_filters_are_saved_and_shared(ledger, guarded):
    nina = log_in(guarded, text_of(ledger, "operator", name="nina"))
    vera = log_in(guarded, text_of(ledger, "viewer", name="vera"))
    path = "/jobs?state=failed&source-contains=a%26b&ended-since=1d"
    assert 'name="save"' in get(guarded, path, nina) and 'name="save"' not in get(guarded, path, vera)
    hidden = html.unescape(re.search(r'name="next" value="([^"]*)"', get(guarded, path, nina))[1])
    assert send(guarded, "/jobs", {"save": "ours <b>", "next": hidden}, nina) == path
    for session in [nina, vera]:
        page = get(guarded, "/jobs", session)
        [link] = re.findall(r'<a class="chip" href="([^"]*)"><bdi>ours &lt;b&gt;</bdi></a>', page)
        assert html.unescape(link) == path
        assert 'aria-current="true"' in get(guarded, path, session)
    # Who opens it later sees the last day of then.
    saved = guarded.get("/api/v1/filters", headers={"authorization": f"Bearer {text_of(ledger, 'viewer')}"})["filters"]
    assert [(f["name"], f["query"], f["savedBy"]) for f in saved] == [("ours <b>", path.partition("?")[2], "token:nina")]
    assert "role_not_fit" in send(guarded, "/jobs", {"remove": "ours <b>"}, vera, 403)
    assert send(guarded, "/jobs", {"remove": "ours <b>"}, nina) == "/jobs"
    assert "Saved:" not in get(guarded, "/jobs", nina)
    assert "no_such_thing" in send(guarded, "/jobs", {"remove": "ours <b>"}, nina, 404)
    send(guarded, "/jobs", {"save": "x" * 61, "next": hidden}, nina, 404)
    send(guarded, "/jobs", {"save": "all", "next": "/jobs"}, nina, 400)
    ledger.run("tenants", "create", "acme")
    acme = log_in(guarded, text_of(ledger, "submitter", "--tenant", "acme", name="acme-1"))
    send(guarded, "/jobs", {"save": "secret", "next": hidden}, acme)
    assert "secret" not in get(guarded, "/jobs", nina) and "secret" in get(guarded, "/jobs", acme)


# MARK: - Webhooks

def test_a_webhook_is_created_tested_and_removed(ledger, guarded):
    session = log_in(guarded, text_of(ledger, "operator", name="boss"))
    assert "No webhooks yet" in get(guarded, "/webhooks", session)
    fields = {"url": "https://example.com/hook", "name": "newsroom", "event": "batch.ended"}
    page = send(guarded, "/webhooks", fields, session, 200)
    [secret] = re.findall(r'aria-label="The secret">([^<]+)</pre>', page)
    page = get(guarded, "/webhooks", session)
    assert secret not in page and "newsroom" in page and "https://example.com/hook" in page
    [number] = re.findall(r'name="test" value="(\d+)"', page)
    assert send(guarded, "/webhooks", {"test": number}, session) == "/webhooks"
    assert ">webhook.test<" in get(guarded, f"/webhooks?webhook={number}", session)
    send(guarded, "/webhooks", {"remove": number}, session)
    assert "No webhooks yet" in get(guarded, "/webhooks", session)
    assert "no_such_thing" in send(guarded, "/webhooks", {"test": number}, session, 404)
    assert "bad_body" in send(guarded, "/webhooks", {"url": ""}, session, 400)


def test_webhooks_are_for_those_who_submit_or_steer(ledger, guarded):
    session = log_in(guarded, text_of(ledger, "viewer"))
    get(guarded, "/webhooks", session, 403)
    assert "/webhooks" not in get(guarded, "/", session)
    session = log_in(guarded, text_of(ledger, "submitter"))
    page = get(guarded, "/webhooks", session)
    # Its webhooks are told only of its own batches.
    assert '<input type="hidden" name="own" value="true">' in page
    send(guarded, "/webhooks", {"url": "https://example.com/", "own": "true"}, session, 200)
    assert "of the batches of" in get(guarded, "/webhooks", session)


# MARK: - Who may, and from where

FORMS = [
    ("/queues", {"pause": "default"}), ("/workers", {"drain": "1"}), ("/jobs/1", {"change": "cancel"}),
    ("/changes", {"change": "cancel"}), ("/changes/1", {"wish": "stop"}), ("/webhooks", {"url": "https://example.com/"}),
    ("/jobs", {"save": "mine", "next": "/jobs?state=failed"}), ("/submit", {"sources": "in:a.wav", "step": "submit"}),
]


def test_a_viewer_changes_nothing_and_is_shown_no_way_to(ledger, guarded):
    submitter = {"authorization": f"Bearer {text_of(ledger, 'submitter')}"}
    batch = guarded.post("/api/v1/batches", {"jobs": jobs(2)}, headers=submitter).json()
    session = log_in(guarded, text_of(ledger, "viewer"))
    for path in ["/", "/jobs", "/queues", "/workers", "/changes", f"/jobs/{batch['firstJob']}", f"/batches/{batch['batch']}"]:
        page = get(guarded, path, session)
        assert re.findall(r'method="post" action="([^"]*)"', page) == ["/logout"], path
        assert "/changes/preview" not in page, path
    get(guarded, "/changes/preview?change=cancel", session, 403)
    for path, fields in FORMS:
        assert "role_not_fit" in send(guarded, path, fields, session, 403), path
    assert states(guarded, batch["batch"], headers=submitter) == {"waiting": 2}


def test_a_submitter_steers_no_queues_and_workers(api):
    api.post("/api/v1/batches", {"jobs": jobs(1)})
    for path, fields in FORMS[:2]:
        assert "role_not_fit" in send(api, path, fields, status=403)
        assert 'method="post"' not in get(api, path, {})


def test_a_tenant_changes_only_its_own_jobs(ledger, guarded):
    for name in ["acme", "zenith"]:
        ledger.run("tenants", "create", name)
    acme = {"authorization": f"Bearer {text_of(ledger, 'submitter', '--tenant', 'acme', name='acme-1')}"}
    batch = guarded.post("/api/v1/batches", {"jobs": jobs(2)}, headers=acme).json()
    zenith = log_in(guarded, text_of(ledger, "submitter", "--tenant", "zenith", name="zenith-1"))
    send(guarded, f"/jobs/{batch['firstJob']}", {"change": "cancel"}, zenith, 404)
    page = get(guarded, f"/changes/preview?change=cancel&batch={batch['batch']}", zenith, 403)
    assert "belongs to another" in page and "acme" not in page
    page = get(guarded, "/changes/preview?change=cancel", zenith)
    assert "Nothing to change" in page and "Submitters change only their own jobs." in page
    path = send(guarded, "/changes", {"change": "cancel"}, zenith)
    assert "<dt>changed</dt><dd>0</dd>" in ended(guarded, path, "done", headers=zenith)
    # Nor does it see what others change.
    other = guarded.post("/api/v1/bulk-changes", {"change": "accept", "filter": {}}, headers=acme).json()["number"]
    get(guarded, f"/changes/{other}", zenith, 404)
    assert f"/changes/{other}\"" not in get(guarded, "/changes", zenith)
    assert "no_such_thing" in send(guarded, f"/changes/{other}", {"wish": "undo"}, zenith, 404)
    assert states(guarded, batch["batch"], headers=acme) == {"waiting": 2}


@pytest.mark.parametrize("fields", [
    {"origin": "http://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
])
def test_pages_of_other_sites_change_nothing(ledger, guarded, operator, fields):
    """Neither with a session, nor where none is needed."""
    session = log_in(guarded, text_of(ledger, "operator", name="boss"))
    for api, more in [(guarded, session), (operator, {})]:
        for path, values in FORMS:
            answer = form(api, path, values, **fields, **more)
            assert answer.status_code == 403 and "foreign_origin" in answer.text, path
    assert "pause_queue" not in ledger.run("audit", "--json")


def test_a_form_needs_a_session(ledger, guarded):
    for path, fields in FORMS:
        page = send(guarded, path, fields, status=401)
        assert 'action="/login"' in page and f'name="next" value="{path}"' in page
        # It is a form, and nothing that another site's script could send without asking.
        assert guarded.client.post(path, json=fields, headers={"origin": guarded.url}).status_code == 415
    assert guarded.client.post("/failures").status_code == 405


def test_the_audit_says_who_it_was(ledger, api, guarded):
    api.post("/api/v1/batches", {"jobs": jobs(1)})
    session = log_in(guarded, text_of(ledger, "operator", name="nina"))
    send(guarded, "/queues", {"pause": "default"}, session)
    ended(guarded, send(guarded, "/changes", {"change": "cancel"}, session), "done", headers=session)
    audit = [json.loads(line) for line in ledger.run("audit", "--json").splitlines()]
    who = {row["what"]: row["who"] for row in audit}
    assert {who[what] for what in ["pause_queue", "start_change", "cancel_jobs"]} == {"token:nina"}


# MARK: - Submitting

def test_files_are_submitted_after_a_look(api):
    page = get(api, "/submit", {})
    assert 'name="destination"' in page and "podcast-mp3" in page and ">Submit<" in page
    fields = {"sources": "in:2026/a.wav\r\nin:b.flac\r\n", "destination": "out:{dir}/{stem}.{ext}", "preset": "podcast-mp3",
              "queue": "nightly", "name": "autumn <b>"}
    page = send(api, "/submit", fields, status=200)
    assert "2 files would become 2 jobs" in page and "out:2026/a.mp3" in page and "autumn &lt;b&gt;" in page
    # A look submits nothing.
    assert api.get("/api/v1/jobs")["jobs"] == []
    found = re.findall(r'type="hidden" name="([a-z]+)" value="([^"]*)"', page)
    hidden = {name: html.unescape(value) for name, value in found}
    assert set(hidden) == {"sources", "destination", "preset", "conflict", "queue", "name", "key"}
    path = send(api, "/submit", {**hidden, "step": "submit"})
    # A button that is pressed twice submits once.
    assert send(api, "/submit", {**hidden, "step": "submit"}) == path
    batch = api.get(f"/api/v1{path}")
    assert (batch["name"], batch["queue"], batch["jobsSubmitted"]) == ("autumn <b>", "nightly", 2)
    jobs = api.get("/api/v1/jobs")["jobs"]
    assert sorted(job["source"] for job in jobs) == ["in:2026/a.wav", "in:b.flac"]


@pytest.mark.parametrize("fields, said", [
    ({"sources": ""}, "sources"),
    ({"sources": "a.wav"}, "a.wav"),
    ({"sources": "in:a/x.wav\nin:b/x.wav"}, "would become out:x.mp3"),
    ({"destination": "nowhere"}, "destination"),
    ({"destination": "out:{x}"}, "destination"),
    ({"preset": "none"}, "preset"),
    ({"queue": "a b"}, "/queue"),
    ({"conflict": "burn"}, "onConflict"),
])
def test_a_submission_that_is_wrong_is_told_and_kept(api, fields, said):
    usual = {"sources": "in:a.wav", "destination": "out:{stem}.mp3", "step": "submit"}
    page = send(api, "/submit", {**usual, **fields}, status=400)
    assert 'role="alert"' in page and said in page
    # What was written is still there: in its field, not only in the command that says the same.
    [written] = re.findall(r"<textarea [^>]*>\n(.*?)</textarea>", page, re.DOTALL)
    assert html.unescape(written) == {**usual, **fields}["sources"]
    assert api.get("/api/v1/jobs")["jobs"] == []


def test_a_tenant_submits_into_its_own_folder(ledger, guarded):
    ledger.run("tenants", "create", "acme")
    ledger.run("tenants", "limit", "acme", "--destination", "out:{tenant}/{stem}.{ext}")
    secret = text_of(ledger, "submitter", "--tenant", "acme", name="acme-1")
    session = log_in(guarded, secret)
    assert "out:{tenant}/{stem}.{ext}" in get(guarded, "/submit", session)
    fields = {"sources": "in:a.wav", "preset": "podcast-mp3"}
    assert "1 file would become 1 job" in send(guarded, "/submit", fields, session, 200)
    path = send(guarded, "/submit", {**fields, "step": "submit"}, session)
    job = guarded.get(f"/api/v1{path}", headers={"authorization": f"Bearer {secret}"})["firstJob"]
    assert "out:acme/a.mp3" in get(guarded, f"/jobs/{job}", session)
    page = send(guarded, "/submit", {**fields, "destination": "out:zenith/{stem}.mp3", "step": "submit"}, session, 400)
    assert "bad_destination" in page or "must begin with out:acme/" in page


def test_viewers_and_operators_submit_nothing(ledger, guarded):
    for role in ["viewer", "operator"]:
        session = log_in(guarded, text_of(ledger, role))
        get(guarded, "/submit", session, 403)
        assert '"/submit"' not in get(guarded, "/", session)
        assert "role_not_fit" in send(guarded, "/submit", {"sources": "in:a.wav", "step": "submit"}, session, 403)


# MARK: - What cannot be done

def test_a_change_without_effect_is_told(ledger, guarded):
    ada = {"authorization": f"Bearer {text_of(ledger, 'submitter', name='ada')}"}
    bob = log_in(guarded, text_of(ledger, "submitter", name="bob"))
    batch = guarded.post("/api/v1/batches", {"jobs": jobs(1)}, headers=ada).json()
    path = f"/jobs/{batch['firstJob']}"
    # Bob sees the job, and no buttons that would do nothing.
    for shown in [path, f"/batches/{batch['batch']}"]:
        page = get(guarded, shown, bob)
        assert re.findall(r'method="post" action="([^"]*)"', page) == ["/logout"] and "/changes/preview" not in page
    page = send(guarded, path, {"change": "cancel"}, bob, 409)
    assert "Nothing was changed" in page and "This one belongs to <bdi>token:ada</bdi>" in page
    assert states(guarded, batch["batch"], headers=ada) == {"waiting": 1}
    boss = log_in(guarded, text_of(ledger, "operator", name="boss"))
    assert send(guarded, path, {"change": "cancel"}, boss) == path
    # As in another tab, which still shows the button.
    assert "The job is cancelled by now." in send(guarded, path, {"change": "cancel"}, boss, 409)


def test_a_submission_that_the_ledger_cannot_take_keeps_its_key(ledger, api):
    fields = {"sources": "in:a.wav\nin:b.wav", "destination": "out:{stem}.mp3", "name": "autumn"}

    def hidden(page):
        plan = page.partition('aria-labelledby="dry"')[2].partition("</form>")[0]
        found = re.findall(r'type="hidden" name="([a-z]+)" value="([^"]*)"', plan)
        return {name: html.unescape(value) for name, value in found}

    first = hidden(send(api, "/submit", fields, status=200))
    ledger.query("create function public.no_room() returns trigger language plpgsql as "
                 "$$ begin raise exception 'no room' using errcode = '53100'; end $$")
    ledger.query("create trigger no_room before insert on sluice.batch execute function public.no_room()")
    page = send(api, "/submit", {**first, "step": "submit"}, status=503)
    assert "it is not taken twice" in page and hidden(page) == first and first["key"]
    # Also what is edited and looked at again: if the first was taken, the ledger says that it was another.
    assert page.count(f'name="key" value="{first["key"]}"') == 2
    ledger.query("drop trigger no_room on sluice.batch")
    path = send(api, "/submit", {**hidden(page), "step": "submit"})
    assert send(api, "/submit", {**hidden(page), "step": "submit"}) == path
    assert api.get("/api/v1/status")["jobs"]["waiting"] == 2
    page = send(api, "/submit", {**first, "sources": "in:c.wav", "step": "submit"}, status=409)
    assert "in:c.wav" in page and first["key"] not in page


def test_what_was_written_into_a_form_is_not_lost(ledger, guarded):
    session = log_in(guarded, text_of(ledger, "operator", name="boss"))
    fields = {"url": "https://example.com/hook", "name": "9 lives", "queue": "", "event": "failures.high"}
    answer = form(guarded, "/webhooks", fields, origin=guarded.url, **session)
    assert answer.status_code in [400, 422] and 'role="alert"' in answer.text
    assert 'value="https://example.com/hook"' in answer.text and 'value="9 lives"' in answer.text
    assert 'value="failures.high" checked' in answer.text and 'value="batch.ended" checked' not in answer.text
    headers = {"authorization": f"Bearer {text_of(ledger, 'submitter')}"}
    for queue in ["day", "nightly"]:
        guarded.post("/api/v1/batches", {"jobs": jobs(1), "queue": queue}, headers=headers)
    page = send(guarded, "/queues", {"queue": "nightly", "limit": "7", "weight": "0"}, session, 400)
    assert '<option value="nightly" selected>' in page and 'value="7"' in page and 'value="0"' in page
    # What a viewer may not see is not shown for a form, either.
    viewer = log_in(guarded, text_of(ledger, "viewer"))
    assert "A new webhook" not in send(guarded, "/webhooks", fields, viewer, 403)
    # The browser still has what was not read.
    page = send(guarded, "/submit", {"sources": "in:" + 70_000 * "x"}, status=401)
    assert "The form was not taken." in page and "xxx" not in page
    assert "The form was not taken." not in get(guarded, "/submit", {}, 401)
    page = send(guarded, "/queues", {"pause": "x" * 70_000}, session, 413)
    assert "body_too_large" in page and "<html" in page


def test_a_form_for_jobs_outlives_its_session(ledger, guarded):
    secret = text_of(ledger, "submitter")
    fields = {"sources": 'in:a.wav\r\nin:"b" \u044f.wav\r\n', "destination": "out:{stem}.mp3", "preset": "podcast-mp3",
              "conflict": "replace", "queue": "nightly", "name": "autumn <b>", "key": "k1"}

    def kept(page):
        found = re.findall(r'type="hidden" name="([a-z]+)" value="([^"]*)"', page)
        return {name: html.unescape(value) for name, value in found}

    page = send(guarded, "/submit", {**fields, "step": "submit"}, status=401)
    assert "what you have written is kept" in page and "not taken" not in page
    # Nothing is submitted before it has been shown.
    sources = 'in:a.wav\nin:"b" \u044f.wav'
    assert kept(page) == {**fields, "sources": sources, "next": "/submit"}
    # A session that has ended, and a token that is mistyped.
    ended = {"cookie": f"sluice_session_{guarded.port}=slt_none"}
    assert kept(send(guarded, "/submit", fields, ended, 401)) == kept(page)
    for token, status in [("slt_none", 401), ("", 400)]:
        assert kept(send(guarded, "/login", {**kept(page), "token": token}, status=status)) == kept(page)
    answer = form(guarded, "/login", {**kept(page), "token": secret}, origin=guarded.url)
    # The browser sends the same to the form itself.
    assert (answer.status_code, answer.headers["location"]) == (307, "/submit")
    session = {"cookie": answer.headers["set-cookie"].partition(";")[0]}
    guarded.client.cookies.clear()
    page = send(guarded, "/submit", {**kept(page), "token": secret}, session, 200)
    assert "2 files would become 2 jobs" in page and "autumn &lt;b&gt;" in page and 'value="k1"' in page
    assert secret not in page
    assert guarded.get("/api/v1/jobs", headers={"authorization": f"Bearer {secret}"})["jobs"] == []


def test_a_long_filter_is_saved_and_survives_a_login(ledger, guarded):
    path = f"/jobs?source-contains={urllib.parse.quote('я' * 200)}"
    secret = text_of(ledger, "operator", name="boss")
    answer = form(guarded, "/login", {"token": secret, "next": path}, origin=guarded.url)
    assert (answer.status_code, answer.headers["location"]) == (303, path)
    guarded.client.cookies.clear()
    session = log_in(guarded, secret)
    assert send(guarded, "/jobs", {"save": "long", "next": path}, session) == path
    [link] = re.findall(r'<a class="chip" href="([^"]*)" aria-current="true"><bdi>long</bdi>', get(guarded, path, session))
    assert html.unescape(link) == path


def test_a_webhook_of_operators_has_no_buttons_for_submitters(ledger, guarded):
    boss = {"authorization": f"Bearer {text_of(ledger, 'operator', name='boss')}"}
    wanted = {"url": "https://example.com/", "name": "newsroom", "onNotify": True}
    assert guarded.post("/api/v1/webhooks", wanted, headers=boss).status_code == 201
    session = log_in(guarded, text_of(ledger, "submitter", name="ada"))
    page = get(guarded, "/webhooks", session)
    assert "newsroom" in page and 'name="test"' not in page and 'name="remove"' not in page
    send(guarded, "/webhooks", {"url": "https://example.com/own", "own": "true"}, session, 200)
    assert get(guarded, "/webhooks", session).count('name="test"') == 1
    assert get(guarded, "/webhooks", log_in(guarded, boss["authorization"].split()[1])).count('name="test"') == 2


def test_causes_of_many_failures_are_counted_when_asked_for(ledger, api):
    batch = api.post("/api/v1/batches", {"jobs": jobs(1)}).json()["batch"]
    assert "Count the causes" not in get(api, f"/batches/{batch}", {})
    ledger.query(f"update sluice.batch set failed = 5001 where id = {batch}")
    page = get(api, f"/batches/{batch}", {})
    assert f'href="/batches/{batch}?causes=true">Count the causes</a>' in page and " data-live=" in page
    # And not again and again while the page is open.
    page = get(api, f"/batches/{batch}?causes=true", {})
    assert "Count the causes" not in page and " data-live=" not in page
