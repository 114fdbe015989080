"""Files and folders that are offered to those who name sources."""

import pytest

from browsers import Browser
from coordinators import Coordinator
from relay import Relay
from test_access import token
from test_operations import problem
from test_page import log_in, text_of
from test_page_browser import WATCH, log_in as log_in_browser, until

PATH = "/api/v1/places"


@pytest.fixture
def guarded(ledger):
    for path in ["in/acme/2026", "in/zenith", "in/.snapshot", "shared", "out"]:
        (ledger.folder / path).mkdir(parents=True)
    for path in ["in/a.wav", "in/.hidden.wav", "in/.snapshot/a.wav", "in/acme/b.wav", "in/acme/2026/c #1.wav", "in/zenith/secret.wav"]:
        (ledger.folder / path).touch()
    for number in range(150):
        (ledger.folder / f"shared/{number:03}.wav").touch()
    roots = [f"--root={name}={ledger.folder}/{name}{rules}" for name, rules in [("in", ""), ("shared", ":ro"), ("out", ":wo")]]
    with Coordinator(ledger, *roots) as api:
        yield api


def places(api, headers, begin=None):
    answer = api.get(PATH, headers=headers, params={} if begin is None else {"begin": begin})
    return answer["places"], answer["hasMore"]


def test_a_submitter_is_led_to_its_sources(ledger, guarded):
    submitter = token(ledger, "submitter")
    # A root that is only written to has no sources.
    assert places(guarded, submitter) == (["in:", "shared:"], False)
    assert places(guarded, submitter, "sh") == (["shared:"], False)
    assert places(guarded, submitter, "in:") == (["in:a.wav", "in:acme/", "in:zenith/"], False)
    assert places(guarded, submitter, "in:ac") == (["in:acme/"], False)
    assert places(guarded, submitter, "in:acme/2026/c #") == (["in:acme/2026/c #1.wav"], False)
    assert places(guarded, submitter, "in:none/x") == places(guarded, submitter, "in:.snapshot/") == ([], False)
    found, has_more = places(guarded, submitter, "shared:")
    assert (len(found), found[0], has_more) == (100, "shared:000.wav", True)
    assert places(guarded, submitter, "shared:14")[0] == [f"shared:{number}.wav" for number in range(140, 150)]


def test_nothing_else_is_told(ledger, guarded):
    submitter = token(ledger, "submitter")
    (ledger.folder / "in/way").symlink_to("/etc")
    for begin in ["in:../", "in:acme/../../", "in://", "in:/etc/", "in:./"]:
        problem(guarded.ask("GET", PATH, headers=submitter, params={"begin": begin}), 400, "bad_path")
    assert places(guarded, submitter, "in:way/") == ([], False)
    assert places(guarded, submitter, "in:.h") == ([], False)
    for begin in ["out:", "none:"]:
        problem(guarded.ask("GET", PATH, headers=submitter, params={"begin": begin}), 404, "not_served")
    for role in ["viewer", "operator"]:
        problem(guarded.ask("GET", PATH, headers=token(ledger, role)), 403, "role_not_fit")
    problem(guarded.ask("GET", PATH), 401, "no_token")


def test_a_tenant_sees_what_it_may_read(ledger, guarded):
    ledger.run("tenants", "create", "acme")
    ledger.run("tenants", "limit", "acme", "--reads", "in:acme/")
    acme = token(ledger, "submitter", "--tenant", "acme", name="acme-1")
    assert places(guarded, acme) == (["in:"], False)
    assert places(guarded, acme, "in:") == (["in:acme/"], False)
    assert places(guarded, acme, "in:acme/") == (["in:acme/2026/", "in:acme/b.wav"], False)
    # The same as if there were none.
    for begin in ["in:zenith/", "in:z", "in:a.w", "shared:", "none:", "out:"]:
        assert places(guarded, acme, begin) == ([], False), begin


def test_the_page_offers_them_to_its_script(ledger, guarded):
    session = log_in(guarded, text_of(ledger, "submitter", name="nina"))
    page = guarded.client.get("/submit", headers=session).text
    assert 'id="find"' in page and 'placeholder="in:"' in page
    answer = guarded.client.get("/places?begin=in:ac", headers=session)
    assert answer.json() == {"places": ["in:acme/"], "hasMore": False}
    assert answer.headers["cache-control"] == "no-store" and answer.headers["x-content-type-options"] == "nosniff"
    assert guarded.client.get("/places?begin=in:", headers={**session, "sec-fetch-site": "cross-site"}).status_code == 403
    assert guarded.client.get("/places?begin=in:").status_code == 401
    viewer = log_in(guarded, text_of(ledger, "viewer", name="vera"))
    assert guarded.client.get("/places?begin=in:", headers=viewer).status_code == 403


def test_without_roots_none_are_offered(ledger):
    with Coordinator(ledger, "--open-role", "submitter") as api:
        assert places(api, {}) == ([], False)
        assert 'id="find"' not in api.client.get("/submit").text


@pytest.mark.process
def test_what_adds_no_files_says_why(ledger, tmp_path):
    for folder, count in [("few", 2), ("many", 101)]:
        (ledger.folder / "in" / folder).mkdir(parents=True)
        for number in range(count):
            (ledger.folder / f"in/{folder}/{number:03}.wav").touch()
    browser = Browser(tmp_path)

    def add(text, said):
        browser.run(f"""document.querySelector('#find input').value = '{text}';
            document.querySelector('#find button').click()""")
        until(browser, f"document.querySelector('[role=status]').textContent.startsWith('{said}')")

    try:
        browser.ask("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        # The browser knows the relay alone, which keeps its port.
        with Relay(None) as relay, Coordinator(ledger, "--root", f"in={ledger.folder}/in") as relay.api:
            api = relay.api
            log_in_browser(browser, relay, text_of(ledger, "submitter"), "/submit")
            add("few", "Begin with a root, as in in:")
            add("in:many/", "This folder has too many files")
            relay.api = None
            add("in:few/", "Names cannot be listed: the coordinator does not answer")
            # The same text is asked for again.
            relay.api = api
            add("in:few/", "2 files are added")
            sources = browser.run("document.querySelector('[name=sources]').value")
            assert sources == "in:few/000.wav\nin:few/001.wav\n"
            browser.ask("Network.clearBrowserCookies")
            add("in:few/", "Names cannot be listed: your session has ended")
            assert browser.run("bad") == []
    finally:
        browser.stop()
