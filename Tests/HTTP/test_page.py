"""The page of a coordinator, as a browser without scripts gets it."""

import html.parser
import pathlib
import re
import time
import zlib

import pytest

from coordinators import Coordinator, takes_less_than
from terminal import PATIENCE
from test_access import token
from test_operations import jobs

SOURCES = pathlib.Path(__file__).parents[2] / "Sources/Page"
VIEWS = ["/", "/jobs", "/batches", "/failures", "/workers", "/queues", "/changes"]
POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
          "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")


@pytest.fixture
def guarded(ledger):
    """A coordinator that serves nobody without a token."""
    with Coordinator(ledger) as api:
        yield api


def text_of(ledger, role, *more, name=None):
    return token(ledger, role, *more, name=name)["authorization"].removeprefix("Bearer ")


def form(api, path, fields, **headers):
    return api.client.post(path, data=fields, headers={"content-type": "application/x-www-form-urlencoded", **headers})


def log_in(api, secret, next="/"):
    """The headers of a session."""
    answer = form(api, "/login", {"token": secret, "next": next}, origin=api.url)
    assert answer.status_code == 303, answer.text
    cookie = answer.headers["set-cookie"].partition(";")[0]
    # The client keeps cookies by itself, which tests of several sessions cannot use.
    api.client.cookies.clear()
    return {"cookie": cookie}


class Markup(html.parser.HTMLParser):
    """What a page would run, load or send, and the texts that it shows."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.links, self.words = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            assert not name.startswith("on") and name != "style", (tag, name)
            if name in ["href", "src", "action"]:
                self.links.append(value)
                assert re.match(r"/(?!/)|#", value), value

    def handle_data(self, data):
        self.words.append(data)


def get(api, path, headers, status=200):
    answer = api.client.get(path, headers=headers)
    assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text}"
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    # With "no-referrer", browsers would send forms with an origin that is refused.
    assert answer.headers["referrer-policy"] == "same-origin"
    markup = Markup(answer.text)
    assert not {"style", "iframe", "object", "base"} & set(markup.tags)
    # The policy runs no script that stands in a page.
    scripts = re.findall(r'<script src="/assets/(?:live|submit|sound)\.[0-9a-f]{16}\.js" defer></script>', answer.text)
    assert markup.tags.count("script") == len(scripts)
    return answer.text


# MARK: - Sessions

def test_without_a_session_there_is_a_form_and_nothing_else(guarded):
    for path in [*VIEWS, "/jobs/1", "/batches/1"]:
        page = get(guarded, path, {}, 401)
        assert 'action="/login"' in page and 'aria-label="Main"' not in page
        assert f'name="next" value="{path}"' in page
    assert guarded.client.get("/").headers["www-authenticate"].startswith("Bearer")
    get(guarded, "/login", {})


def test_a_token_begins_a_session(ledger, guarded):
    secret = text_of(ledger, "viewer", name="nina")
    answer = form(guarded, "/login", {"token": f" {secret} ", "next": "/jobs?state=failed"}, origin=guarded.url)
    assert (answer.status_code, answer.headers["location"]) == (303, "/jobs?state=failed")
    name, _, rest = answer.headers["set-cookie"].partition("=")
    assert name == f"sluice_session_{guarded.port}"
    assert rest == f"{secret}; Path=/; HttpOnly; SameSite=Strict"
    guarded.client.cookies.clear()
    for path in VIEWS:
        page = get(guarded, path, {"cookie": f"a=b; {name}={secret}"})
        assert "nina" in page and "viewer" in page and secret not in page
    # It is for pages: a page of another site cannot use the API by it.
    assert guarded.client.get("/api/v1/jobs", headers={"cookie": f"{name}={secret}"}).status_code == 401
    assert secret not in guarded.said()


def test_a_session_behind_tls_is_not_sent_in_clear_text(ledger, guarded):
    secret = text_of(ledger, "viewer")
    answer = form(guarded, "/login", {"token": secret}, host="sluice.example", origin="https://sluice.example")
    assert answer.headers["set-cookie"].endswith("SameSite=Strict; Secure")
    assert answer.headers["set-cookie"].startswith("sluice_session=")


@pytest.mark.parametrize("wrong", ["", "x", "slt_", "slt_" + "0" * 72])
def test_other_texts_begin_none(guarded, wrong):
    answer = form(guarded, "/login", {"token": wrong}, origin=guarded.url)
    assert answer.status_code == (401 if wrong else 400)
    assert "set-cookie" not in answer.headers and 'role="alert"' in answer.text


@pytest.mark.parametrize("next", ["https://evil.example/", "//evil.example", "/\\evil.example", "/\r\nSet-Cookie: a=b"])
def test_a_login_leads_to_no_other_site(ledger, guarded, next):
    answer = form(guarded, "/login", {"token": text_of(ledger, "viewer"), "next": next}, origin=guarded.url)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert len(answer.headers.get_list("set-cookie")) == 1


@pytest.mark.parametrize("fields", [
    {"origin": "http://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"},
])
def test_pages_of_other_sites_begin_and_end_no_session(ledger, guarded, fields):
    secret = text_of(ledger, "viewer")
    for path in ["/login", "/logout"]:
        answer = form(guarded, path, {"token": secret}, **fields)
        assert answer.status_code == 403 and "set-cookie" not in answer.headers
    assert guarded.client.post("/login", json={"token": secret}).status_code == 415


def test_a_revoked_token_ends_its_session_within_seconds(ledger, guarded):
    def revoke(number):
        session = log_in(guarded, text_of(ledger, "viewer", name=f"leaver-{number}"))
        get(guarded, "/", session)
        ledger.run("tokens", "revoke", f"leaver-{number}")
        revoked = time.monotonic()
        while (answer := guarded.client.get("/", headers=session)).status_code == 200:
            assert time.monotonic() < revoked + PATIENCE
            # No event tells when the answer of the last look ends.
            time.sleep(0.2)
        assert answer.status_code == 401 and "Your session has ended" in answer.text
        assert "Max-Age=0" in answer.headers["set-cookie"]
        return time.monotonic() - revoked

    # The promise is five seconds.
    takes_less_than(20, revoke)


def test_logging_out_ends_a_session(ledger, guarded):
    session = log_in(guarded, text_of(ledger, "viewer"))
    assert 'action="/logout"' in get(guarded, "/", session)
    assert guarded.client.get("/logout", headers=session).status_code == 405
    answer = form(guarded, "/logout", {}, origin=guarded.url, **session)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    name = session["cookie"].partition("=")[0]
    assert answer.headers["set-cookie"] == f"{name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"


def test_a_link_of_another_site_leads_to_the_session(ledger, guarded):
    """A browser sends the cookie only once the navigation comes from this page."""
    page = get(guarded, "/jobs?queue=a%26b", {"sec-fetch-site": "cross-site"})
    assert '<meta http-equiv="refresh" content="0;url=/jobs?queue=a%26b">' in page
    session = log_in(guarded, text_of(ledger, "viewer"))
    get(guarded, "/jobs?queue=a%26b", {"sec-fetch-site": "same-origin", **session})


def test_requests_without_a_token_have_the_open_role(shared):
    for path in VIEWS:
        page = get(shared, path, {})
        assert "local" in page and "/logout" not in page
    # A session that belongs to another cluster is worth no less than none.
    get(shared, "/", {"cookie": f"sluice_session_{shared.port}=slt_{'0' * 72}"})
    assert shared.client.get("/", headers={"host": "evil.example"}).status_code == 421


# MARK: - Roles and tenants

def test_each_role_sees_what_the_api_tells_it(ledger, guarded):
    ledger.run("tenants", "create", "acme")
    callers = {role: text_of(ledger, role) for role in ["viewer", "submitter", "operator"]}
    callers["tenant"] = text_of(ledger, "submitter", "--tenant", "acme", name="acme-1")
    of_views = {"/": "status", "/jobs": "jobs", "/batches": "batches", "/failures": "failures",
                "/workers": "workers", "/queues": "queues", "/changes": "bulk-changes",
                "/tokens": "tokens", "/tenants": "tenants", "/audit": "audit"}
    refused = []
    for caller, secret in callers.items():
        session = log_in(guarded, secret)
        menu = get(guarded, "/", session)
        for path, name in of_views.items():
            told = guarded.client.get(f"/api/v1/{name}", headers={"authorization": f"Bearer {secret}"}).status_code
            page = get(guarded, path, session, told)
            # What a role may not see is not drawn.
            assert (f'<li><a href="{path}"' in menu) == (told == 200), (caller, path)
            if told != 200:
                refused.append((caller, path))
                assert ("tenant_not_fit" if path == "/workers" else "role_not_fit") in page
    of_operators = {(caller, path) for caller in callers if caller != "operator" for path in ["/tokens", "/tenants", "/audit"]}
    assert set(refused) == {("tenant", "/workers")} | of_operators


def test_operators_read_tokens_tenants_and_the_audit(ledger, guarded):
    ledger.run("tenants", "create", "acme")
    ledger.run("tenants", "limit", "acme", "--reads", "in:acme/")
    secret = text_of(ledger, "submitter", "--tenant", "acme", name="acme-1")
    boss = text_of(ledger, "operator", name="boss")
    session = log_in(guarded, boss)
    page = get(guarded, "/tokens", session)
    assert "acme-1" in page and "boss" in page and "submitter" in page and secret not in page and boss not in page
    assert "in:acme/" in get(guarded, "/tenants", session)
    guarded.post("/api/v1/webhooks", {"url": "https://example.com/"}, headers={"authorization": f"Bearer {boss}"})
    page = get(guarded, "/audit", session)
    assert "create_tenant" in page and "create_webhook" in page and "token:boss" in page
    page = get(guarded, "/audit?who=token:boss", session)
    assert "create_webhook" in page and "create_tenant" not in page


def test_a_tenant_sees_its_own_world(ledger, guarded):
    for name in ["acme", "zenith"]:
        ledger.run("tenants", "create", name)
    acme = text_of(ledger, "submitter", "--tenant", "acme", name="acme-1")
    zenith = log_in(guarded, text_of(ledger, "submitter", "--tenant", "zenith", name="zenith-1"))
    headers = {"authorization": f"Bearer {acme}"}
    batch = guarded.post("/api/v1/batches", {"jobs": jobs(3), "name": "secret"}, headers=headers).json()
    own = log_in(guarded, acme)
    for path in ["/batches", f"/jobs/{batch['firstJob']}", f"/batches/{batch['batch']}"]:
        assert "secret" in get(guarded, path, own)
    assert f"/jobs/{batch['firstJob']}\"" in get(guarded, "/jobs", own)
    for path in [f"/jobs/{batch['firstJob']}", f"/batches/{batch['batch']}"]:
        get(guarded, path, zenith, 404)
    for path in ["/", "/jobs", "/batches", "/failures", "/queues", f"/jobs?batch={batch['batch']}"]:
        page = get(guarded, path, zenith)
        assert "secret" not in page and f"/jobs/{batch['firstJob']}\"" not in page, path
    assert "No jobs yet" in get(guarded, "/jobs", zenith)


# MARK: - What views show

def test_hostile_names_stay_texts(ledger, api):
    names = ["<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "' onmouseover='alert(1)", "a\u202egpj",
             "\u05e4\u05e8\u05e7 12", "&lt;b&gt;", "x" * 200]
    items = [{"source": f"in:{name}.wav", "preset": "podcast-mp3", "output": f"out:{place}.mp3"}
             for place, name in enumerate(names)]
    batch = api.post("/api/v1/batches", {"jobs": items, "name": names[0], "labels": {"title": names[1]}}).json()
    pages = ["/", "/jobs", "/batches", f"/batches/{batch['batch']}"]
    pages += [f"/jobs/{number}" for number in range(batch["firstJob"], batch["lastJob"] + 1)]
    for path in pages:
        page = get(api, path, {})
        assert "<img" not in page and "\u202e" not in page, path
    shown = "".join(Markup(get(api, "/jobs", {})).words)
    assert "<script>alert(1)</script>.wav" in shown and "a\\u{202e}gpj.wav" in shown and names[4] in shown


def test_pages_of_jobs_have_each_job_once(api):
    batch = api.post("/api/v1/batches", {"jobs": jobs(45)}).json()
    path, seen = "/jobs?state=waiting", []
    while path:
        page = get(api, path, {})
        # It has a field for each job, because this caller may change them.
        assert len(page) <= 16 << 10
        seen += [int(number) for number in re.findall(r'name="id" value="(\d+)"', page)]
        following = re.search(r'<a class="b" href="(\S+)" rel="next">', page)
        path = following and following[1].replace("&amp;", "&")
    assert seen == list(range(batch["lastJob"], batch["firstJob"] - 1, -1))


def test_filters_are_those_of_the_command(ledger, api):
    api.post("/api/v1/batches", {"jobs": jobs(2), "queue": "night-shift"})
    api.post("/api/v1/batches", {"jobs": jobs(3)})

    def count(query):
        return len(re.findall(r'<td class="src w">', get(api, f"/jobs{query}", {})))

    assert [count(query) for query in ["", "?queue=night-shift", "?queue=&state=waiting", "?state=failed,delayed",
                                       "?source-contains=wav", "?since=1h&ended-since=", "?ended-since=1h"]] == [
        5, 2, 5, 0, 5, 5, 0]
    page = get(api, "/jobs?source-contains=a+b&state=waiting", {})
    assert "sluice jobs --state waiting --source-contains &#39;a b&#39;" in page
    for query in ["?state=gone", "?batch=x", "?since=soon", "?after=x"]:
        assert "The filter cannot be used" in get(api, f"/jobs{query}", {}, 400)


def test_a_paused_queue_needs_attention(api, operator):
    api.post("/api/v1/batches", {"jobs": jobs(2), "queue": "nightly"})
    operator.post("/api/v1/queues/nightly", {"isPaused": True})
    page = get(operator, "/", {})
    assert "is paused; 2 jobs wait in it." in page and "no workers are running" in page.lower()
    assert "things need attention" in page
    assert 'class="s paused">paused' in get(operator, "/queues", {})


def test_what_does_not_exist_is_told(api):
    for path in ["/jobs/999", "/jobs/x", "/jobs/-1", "/jobs/99999999999999999999", "/batches/999", "/batches/"]:
        assert "no_such_thing" in get(api, path, {}, 404)
    assert api.client.get("/nothing").json()["code"] == "no_such_thing"
    # A person gets a page.
    assert "no_such_thing" in get(api, "/nothing", {"accept": "text/html,*/*"}, 404)
    assert api.client.get("/api/v1/nothing", headers={"accept": "text/html"}).json()["code"] == "no_such_thing"
    assert api.client.post("/failures").headers["allow"] == "GET, HEAD"
    for query in ["?since=soon", "?batch=x"]:
        assert "bad_parameter" in get(api, f"/failures{query}", {}, 400)


def test_a_cluster_has_a_name_and_a_colour(ledger):
    with Coordinator(ledger, "--open-role", "viewer", "--page-name", "Harbour <b>", "--page-color", "magenta") as api:
        for path, status in [("/", 200), ("/login", 200), ("/jobs/9", 404)]:
            page = get(api, path, {}, status)
            assert '<html lang="en" data-cluster="magenta">' in page and "Harbour &lt;b&gt; · Sluice</title>" in page
            [icon] = re.findall(r'<link rel="icon" href="(\S+)">', page)
            assert "#a8329a" in api.client.get(icon).text
    for words in [["--page-name", ""], ["--page-name", "x" * 61], ["--page-color", "grey"]]:
        with pytest.raises(AssertionError):
            ledger.run("coordinator", "--listen", "0", *words)


def test_assets_are_kept_by_browsers(shared):
    page = get(shared, "/", {})
    paths = set(re.findall(r'(?:href|src)="(/assets/\S+)"', page))
    assert len(paths) == 3
    for path in paths:
        answer = shared.client.get(path)
        assert answer.status_code == 200 and "immutable" in answer.headers["cache-control"]
        assert answer.headers["content-type"] in ["text/css; charset=utf-8", "text/javascript; charset=utf-8", "image/svg+xml"]
        again = shared.client.get(path, headers={"if-none-match": answer.headers["etag"]})
        assert again.status_code == 304 and not again.content
        # A page of a coordinator with another build may have named it.
        other = re.sub(r"\.[0-9a-f]{16}\.", ".0000000000000000.", path)
        assert shared.client.get(other).headers["cache-control"] == "no-cache"
    assert shared.client.get("/assets/other.css").status_code == 404
    assert shared.client.head("/").status_code == 200


def test_script_and_style_are_small():
    texts = [file.read_bytes() for file in (SOURCES / "Assets/files").iterdir()]
    assert len(texts) > 2 and sum(len(zlib.compress(text, 9)) for text in texts) <= 60_000


def test_the_style_sheet_has_no_class_that_nothing_has():
    sheet = re.sub(r"/\*.*?\*/", "", (SOURCES / "Assets/files/page.css").read_text(), flags=re.DOTALL)
    files = [*SOURCES.glob("**/*.swift"), *SOURCES.glob("**/*.js")]
    text = "\n".join(file.read_text() for file in files)
    used = re.findall(r'class=\\?"([^"]*)"', text) + re.findall(r'"( ?[a-z][a-z -]*)"', text)
    words = {word for names in used for word in re.findall(r"[a-z][a-z-]*", names)}
    # A state has its name as its class.
    assert set(re.findall(r"\.([a-z][\w-]*)", sheet)) - words <= {"publishing"}


# MARK: - Events

def test_a_session_hears_what_changes(ledger, guarded):
    session = log_in(guarded, text_of(ledger, "submitter"))
    with guarded.client.stream("GET", "/live?queues=true", headers=session) as answer:
        assert answer.status_code == 200 and answer.headers["content-type"] == "text/event-stream"
        assert answer.headers["cache-control"] == "no-store"
        headers = {"authorization": f"Bearer {text_of(ledger, 'submitter', name='other')}"}
        guarded.post("/api/v1/batches", {"jobs": jobs(1), "queue": "nightly"}, headers=headers)
        for line in answer.iter_lines():
            if line.startswith("data:") and "nightly" in line:
                break


def test_events_end_with_the_token(ledger, guarded):
    def revoke(number):
        session = log_in(guarded, text_of(ledger, "viewer", name=f"leaver-{number}"))
        with guarded.client.stream("GET", "/live?queues=true", headers=session) as answer:
            ledger.run("tokens", "revoke", f"leaver-{number}")
            revoked = time.monotonic()
            # It ends. Until then it says now and then that it is there.
            for _ in answer.iter_raw():
                assert time.monotonic() < revoked + PATIENCE
            took = time.monotonic() - revoked
        assert guarded.client.get("/live?queues=true", headers=session).status_code == 401
        return took

    takes_less_than(20, revoke)


def test_events_are_for_pages_of_this_coordinator(ledger, guarded, shared):
    assert guarded.client.get("/live?queues=true").status_code == 401
    for site in ["cross-site", "same-site"]:
        assert shared.client.get("/live?queues=true", headers={"sec-fetch-site": site}).json()["code"] == "foreign_origin"
    assert shared.client.get("/live?queues=true", headers={"host": "evil.example"}).status_code == 421
    for query in ["", "?x=1", "?job=x"]:
        assert shared.client.get(f"/live{query}").json()["code"] == "bad_parameter"
    assert shared.client.post("/live").status_code == 405
