"""The page of a coordinator in a browser: it runs under its policy, fits every width, and keeps itself up to date."""

import base64
import importlib.util
import pathlib
import time

import pytest

from browsers import Browser
from coordinators import Coordinator
from relay import Relay
from terminal import PATIENCE
from test_operations import jobs, lines
from test_page import text_of

pytestmark = pytest.mark.process

# What a browser refuses or cannot run.
WATCH = """window.bad = [];
    addEventListener('securitypolicyviolation', event => bad.push(`${event.violatedDirective} ${event.blockedURI}`));
    addEventListener('error', event => bad.push(event.message));"""

UNNAMED = """[...document.querySelectorAll('input:not([type=hidden]),select,button')]
    .filter(part => !part.labels?.length && !part.ariaLabel && !part.textContent.trim()).map(part => part.outerHTML)"""

ROWS = "[...document.querySelectorAll('tbody tr')]"

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
FAULTS = f"""axe.run({{ runOnly: {RULES} }}).then(found => found.violations.map(
    fault => `${{fault.id}}: ${{fault.nodes.slice(0, 3).map(node => node.html.slice(0, 200)).join(' ')}}`))"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    browser.ask("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    yield browser
    browser.stop()


@pytest.fixture
def guarded(ledger):
    with Coordinator(ledger) as api:
        yield api


def until(browser, script):
    """Waits for an expression to be true; the page may change meanwhile."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            if browser.run(script):
                return
            said = browser.run("document.body.innerText")
        except AssertionError as error:
            said = error
        assert time.monotonic() < end, f"{script}: {said}"
        # The page does not tell what it shows.
        time.sleep(0.05)


def show(browser, api, path, width=1280, scheme="light"):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
    browser.ask("Emulation.setEmulatedMedia", media="screen", features=features)
    browser.ask("Page.navigate", url=api.url + path)
    until(browser, f"document.readyState == 'complete' && location.href.startsWith('{api.url}')")


def log_in(browser, api, secret, path="/"):
    browser.ask("Network.clearBrowserCookies")
    show(browser, api, path)
    browser.run(f"document.querySelector('[name=token]').value = '{secret}'; document.querySelector('.go').click()")
    # Scripts run when the page has been read to its end.
    until(browser, "document.readyState == 'complete' && document.querySelector('.who b') != null")
    assert browser.run("bad") == []


def submit(api, secret, count, **more):
    headers = {"authorization": f"Bearer {secret}"}
    return api.post("/api/v1/batches", {"jobs": jobs(count), **more}, headers=headers).json()


def read_again(browser, api, secret, change="", status=200):
    """Has the page read itself again. The answer is what stands there, after a script has changed it."""
    browser.run(f"""document.querySelector('.who p').textContent = '';
        window.fetch = async (_, options) => {{
            const page = document.cloneNode(true);
            window.signal = options.signal;
            {change};
            return new Response(page.documentElement.outerHTML, {{ status: {status} }});
        }}; 1""")
    submit(api, secret, 1)
    until(browser, "document.querySelector('.who p').textContent != ''")


def test_the_form_of_a_login_leads_to_the_page(browser, ledger, guarded):
    secret = text_of(ledger, "viewer", name="nina")
    log_in(browser, guarded, secret, "/jobs?state=failed")
    assert browser.run("location.pathname + location.search") == "/jobs?state=failed"
    # No script can read the session.
    assert browser.run("document.cookie") == ""
    browser.run("document.querySelector('[action=\"/logout\"] button').click()")
    until(browser, "location.pathname == '/login'")
    show(browser, guarded, "/jobs")
    assert browser.run("document.querySelector('[name=token]') != null")


def test_nothing_is_beyond_the_edge_and_nothing_is_refused(browser, ledger, guarded):
    secret = text_of(ledger, "submitter")
    names = ["<script>bad.push('ran')</script>", "\"><img src=x onerror=bad.push('ran')>", "\u05e4\u05e8\u05e7 12", "x" * 200]
    items = [{"source": f"in:{name}.wav", "output": f"out:{place}.flac"} for place, name in enumerate(names)]
    headers = {"authorization": f"Bearer {secret}"}
    batch = guarded.post("/api/v1/batches", {"jobs": items, "name": (names[1] + names[3])[:200]}, headers=headers).json()
    log_in(browser, guarded, secret)
    paths = ["/", "/jobs", f"/jobs/{batch['firstJob']}", f"/jobs/{batch['lastJob']}", "/batches", f"/batches/{batch['batch']}"]
    paths += ["/failures", "/workers", "/queues", "/changes", "/changes/preview?change=prioritize"]
    for width, scheme in [(360, "light"), (1280, "dark"), (2560, "light")]:
        for path in paths:
            show(browser, guarded, path, width, scheme)
            wide = browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert wide <= 0, (path, width)
            assert browser.run("bad") == [], (path, width)
            levels = browser.run("[...document.querySelectorAll('h1,h2,h3')].map(heading => heading.localName)")
            assert levels.count("h1") == 1 and levels[0] == "h1", path
            # Every field and button has a name.
            assert browser.run(UNNAMED) == [], path


def test_axe_finds_nothing(browser, ledger, guarded):
    # The package itself wants another driver of browsers.
    axe = pathlib.Path(importlib.util.find_spec("axe_playwright_python").origin).with_name("axe.min.js").read_text()
    secret = text_of(ledger, "submitter")
    batch = submit(guarded, secret, 3, name="night")
    ledger.run("webhooks", "create", "https://example.org/hook", "--name", "studio")
    ledger.run("tenants", "create", "acme")
    browser.ask("Network.clearBrowserCookies")
    show(browser, guarded, "/login")
    browser.run(f"{axe}; 1")
    assert browser.run(FAULTS) == []
    log_in(browser, guarded, secret, "/submit")
    browser.run(f"{axe}; 1")
    assert browser.run(FAULTS) == []
    log_in(browser, guarded, text_of(ledger, "operator", name="boss"))
    paths = ["/", "/jobs", "/jobs?state=waiting", f"/jobs/{batch['firstJob']}", "/batches", f"/batches/{batch['batch']}"]
    paths += ["/failures", "/workers", "/queues", "/changes", "/changes/preview?change=cancel", "/webhooks"]
    paths += ["/tokens", "/tenants", "/audit", "/jobs/999999", "/no-such-page"]
    for width, scheme in [(1280, "light"), (360, "dark")]:
        for path in paths:
            show(browser, guarded, path, width, scheme)
            browser.run(f"{axe}; 1")
            assert browser.run(FAULTS) == [], (path, width)


def test_a_button_does_what_it_says(browser, ledger, guarded):
    submit(guarded, text_of(ledger, "submitter"), 1)
    log_in(browser, guarded, text_of(ledger, "operator", name="boss"), "/queues")
    browser.run("document.querySelector('[name=pause]').click()")
    until(browser, "document.querySelector('[name=resume]') != null")
    assert browser.run("document.querySelector('td .s.paused') != null && location.pathname == '/queues'")


def test_a_button_whose_answer_never_comes_can_be_pressed_again(browser, ledger, guarded):
    submit(guarded, text_of(ledger, "submitter"), 1)
    log_in(browser, guarded, text_of(ledger, "operator", name="boss"), "/queues")
    # As if a person had stopped each request. The time passes faster.
    browser.run("""window.sent = 0;
        addEventListener('submit', event => { if (!event.defaultPrevented) sent += 1; event.preventDefault(); });
        { const wait = setTimeout; window.setTimeout = (go, time) => wait(go, time / 20); }
        window.button = document.querySelector('[name=pause]'); button.click(); button.click(); 1""")
    assert browser.run("sent") == 1
    until(browser, "!button.hasAttribute('aria-busy')")
    browser.run("button.click()")
    assert browser.run("sent") == 2


def test_rows_with_the_same_link_stay_apart(browser, ledger, guarded):
    secret = text_of(ledger, "submitter")
    log_in(browser, guarded, secret, "/batches")
    notes = "".join(f"<li><p>{name}</p><a href='/workers'>Workers</a></li>" for name in ["one", "two"])
    browser.run(f"""document.querySelector('main').insertAdjacentHTML('beforeend', "<ul class='needs'>{notes}</ul>");
        document.querySelector('.needs a').focus()""")
    texts = "[...document.querySelectorAll('.needs p')].map(note => note.textContent)"
    changed = "page.querySelectorAll('.needs p').forEach(note => note.textContent = `${note.textContent.split(' ')[0]} changed`)"
    read_again(browser, guarded, secret, changed)
    assert browser.run(texts) == ["one", "two"]
    browser.run("window.note = document.querySelector('.needs li'); document.activeElement.blur()")
    read_again(browser, guarded, secret, changed)
    assert browser.run(texts) == ["one changed", "two changed"] and browser.run("note.isConnected")


def test_a_section_that_comes_or_goes_leaves_the_others_alone(browser, ledger, guarded):
    secret = text_of(ledger, "submitter")
    batch = submit(guarded, secret, 1)
    log_in(browser, guarded, secret)
    # No workers are running.
    assert browser.run("document.querySelector('#needs') != null")
    browser.run("window.link = document.querySelector('[aria-labelledby=queues] tbody a'); link.focus()")
    guarded.post("/api/v1/changes", {"change": "cancel", "filter": {"id": [batch["firstJob"]]}},
                 headers={"authorization": f"Bearer {secret}"})
    until(browser, "document.querySelector('#needs') == null")
    assert browser.run("link.isConnected && link == document.activeElement")
    submit(guarded, secret, 1)
    until(browser, "document.querySelector('#needs') != null")
    assert browser.run("link.isConnected && link == document.activeElement")


def test_a_phone_has_what_pauses_updates(browser, ledger, guarded):
    log_in(browser, guarded, text_of(ledger, "viewer"))
    show(browser, guarded, "/batches", 360)
    browser.run("window.pause = document.querySelector('.who > .b'); pause.click()")
    assert browser.run("pause.checkVisibility() && document.querySelector('.who p').innerText == 'updates are paused'")


def test_a_row_changes_in_place(browser, ledger, guarded):
    secret = text_of(ledger, "submitter")
    batch = submit(guarded, secret, 3)
    log_in(browser, guarded, secret, "/jobs")
    # A person is at work in the first row, and reads the filter.
    browser.run(f"window.row = {ROWS}[0]; row.querySelector('input').click(); row.querySelector('a').focus();"
                "document.querySelector('[name=code]').value = 'trunc'; 1")
    guarded.post("/api/v1/changes", {"change": "cancel", "filter": {"id": [batch["lastJob"]]}},
                 headers={"authorization": f"Bearer {secret}"})
    submit(guarded, secret, 2)
    until(browser, "row.querySelector('.s').textContent == 'cancelled'")
    assert browser.run("row.isConnected && row.querySelector('input').checked && row.contains(document.activeElement)")
    assert browser.run("document.querySelector('[name=code]').value") == "trunc"
    # No row pushes another away from under the hand.
    assert browser.run(f"{ROWS}.length") == 3
    browser.run("row.querySelector('input').click(); document.activeElement.blur()")
    until(browser, f"{ROWS}.length == 5")
    assert browser.run(f"row === {ROWS}[2]") and browser.run("bad") == []


def test_two_people_see_the_same(browser, ledger, guarded, tmp_path):
    submit(guarded, text_of(ledger, "submitter"), 1)
    log_in(browser, guarded, text_of(ledger, "operator", name="boss"), "/queues")
    other = Browser(tmp_path)
    try:
        other.ask("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        log_in(other, guarded, text_of(ledger, "viewer"), "/queues")
        # What a viewer may not do is not drawn.
        assert other.run("document.querySelector('main button') == null")
        for button, sign in [("pause", "!="), ("resume", "==")]:
            until(browser, f"document.querySelector('[name={button}]') != null")
            browser.run(f"document.querySelector('[name={button}]').click()")
            until(other, f"document.querySelector('td .s.paused') {sign} null")
        assert other.run("bad") == []
    finally:
        other.stop()


def test_updates_can_be_paused(browser, ledger, guarded, tmp_path):
    secret = text_of(ledger, "submitter")
    log_in(browser, guarded, secret, "/batches")
    other = Browser(tmp_path)
    try:
        other.ask("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        log_in(other, guarded, secret, "/batches")
        pause = "[...document.querySelectorAll('.who .b')].find(button => button.textContent == '{}').click()"
        browser.run(pause.format("Pause updates"))
        for name in ["late", "later"]:
            # Twice, because the two pages are told at the same time.
            submit(guarded, secret, 1, name=name)
            until(other, f"document.body.innerText.includes('{name}')")
        assert "late" not in browser.run("document.body.innerText")
        browser.run(pause.format("Resume updates"))
        until(browser, "document.body.innerText.includes('later')")
    finally:
        other.stop()


def test_the_page_comes_back_with_its_coordinator(browser, ledger):
    secret = text_of(ledger, "submitter")
    # The browser knows the relay alone, which keeps its port.
    with Relay(None) as relay:
        with Coordinator(ledger) as relay.api:
            log_in(browser, relay, secret, "/batches")
        relay.api = None
        until(browser, "/again|not answer/.test(document.querySelector('.who').innerText)")
        with Coordinator(ledger) as relay.api:
            submit(relay.api, secret, 1, name="back")
            until(browser, "document.body.innerText.includes('back')")


@pytest.mark.parametrize("status", [403, 404, 500])
def test_an_answer_that_is_no_view_is_told(browser, ledger, guarded, status):
    secret = text_of(ledger, "submitter")
    log_in(browser, guarded, secret, "/batches")
    read_again(browser, guarded, secret, "page.querySelector('main').removeAttribute('data-live')", status)
    assert browser.run("document.querySelector('.who p').textContent") == f"the coordinator answered with status {status}"
    # What was there stays, and an answer that never ends is waited for no longer than this.
    assert browser.run("document.querySelector('h1').textContent == 'Batches' && signal instanceof AbortSignal")


def test_a_page_ends_with_its_session(browser, ledger, guarded):
    log_in(browser, guarded, text_of(ledger, "viewer", name="leaver"))
    ledger.run("tokens", "revoke", "leaver")
    until(browser, "document.querySelector('[name=token]') != null")
    assert "Your session has ended" in browser.run("document.body.innerText")


def test_a_form_is_sent_again_after_a_login(browser, ledger, guarded):
    secret = text_of(ledger, "submitter")
    log_in(browser, guarded, secret, "/submit")
    browser.run("""document.querySelector('[name=sources]').value = 'in:a.wav';
        document.querySelector('[name=destination]').value = 'out:{stem}.flac'""")
    browser.ask("Network.clearBrowserCookies")
    browser.run("document.querySelector('form.form').requestSubmit()")
    until(browser, "document.querySelector('[name=token]') != null")
    browser.run(f"document.querySelector('[name=token]').value = '{secret}'; document.querySelector('.go').click()")
    until(browser, "document.querySelector('[name=step]') != null")
    assert "1 file would become 1 job" in browser.run("document.body.innerText")
    assert browser.run("location.pathname + location.search") == "/submit" and browser.run("bad") == []


def test_it_can_be_read_without_scripts(browser, ledger, guarded):
    secret = text_of(ledger, "submitter")
    submit(guarded, secret, 1, name="plain")
    log_in(browser, guarded, secret)
    browser.ask("Emulation.setScriptExecutionDisabled", value=True)
    try:
        show(browser, guarded, "/batches")
        assert "plain" in browser.run("document.body.innerText")
        # What only a script could do is not there.
        assert "Pause updates" not in browser.run("document.body.innerText")
    finally:
        browser.ask("Emulation.setScriptExecutionDisabled", value=False)


def test_files_are_sent_and_submitted(browser, ledger, tmp_path):
    for name in ["in", "out"]:
        (ledger.folder / name).mkdir()
    words = ["--root", f"in={ledger.folder}/in", "--uploads", "in"]
    (tmp_path / "gr\u00f6\u00dfe #1 50%.wav").write_bytes(b"RIFF" * 1_000)
    with Coordinator(ledger, *words) as api:
        secret = text_of(ledger, "submitter")
        log_in(browser, api, secret, "/submit")
        browser.choose(tmp_path / "gr\u00f6\u00dfe #1 50%.wav", "#uploads input")
        until(browser, "document.querySelector('#uploads .completed') != null")
        assert browser.run("document.querySelector('[role=status]').textContent") == "1 of 1 sent"
        location = browser.run("document.querySelector('[name=sources]').value.trim()")
        assert location.startswith("in:uploads/") and location.endswith("/gr\u00f6\u00dfe #1 50%.wav")
        assert (ledger.folder / "in" / location.removeprefix("in:")).read_bytes() == b"RIFF" * 1_000
        browser.run("document.querySelector('[name=destination]').value = 'out:{stem}.flac';"
                    "document.querySelector('form.form').requestSubmit()")
        until(browser, "document.querySelector('[name=step]') != null")
        browser.run("document.querySelector('[name=step]').click()")
        until(browser, "location.pathname.startsWith('/batches/')")
        assert browser.run("bad") == []
        # A file that the coordinator does not take says why.
        show(browser, api, "/submit")
        assert browser.run("""fetch('/files/out/a.wav', { method: 'PUT', body: 'x' })
            .then(answer => answer.json()).then(problem => problem.code)""") == "not_served"


def test_files_are_found_while_they_are_typed(browser, ledger):
    (ledger.folder / "in/2026").mkdir(parents=True)
    for name in ["in/2026/a #1.wav", "in/2026/b.wav", "in/2026/<i>.wav", "in/c.wav"]:
        (ledger.folder / name).touch()
    with Coordinator(ledger, "--root", f"in={ledger.folder}/in") as api:
        log_in(browser, api, text_of(ledger, "submitter"), "/submit")

        def offered(*places):
            until(browser, f"[...document.querySelectorAll('#places option')].map(o => o.value).join('|') == '{'|'.join(places)}'")

        def press(key):
            for kind in ["keyDown", "keyUp"]:
                browser.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=13)

        sources = "document.querySelector('[name=sources]').value"
        browser.run("document.querySelector('#find input').focus()")
        offered("in:")
        browser.ask("Input.insertText", text="in:")
        offered("in:2026/", "in:c.wav")
        browser.ask("Input.insertText", text="c.wav")
        offered("in:c.wav")
        press("Enter")
        until(browser, f"{sources} == 'in:c.wav\\n'")
        # The next one is looked for in the same folder, and the form was not sent.
        assert browser.run("document.querySelector('#find input').value") == "in:" and browser.run("location.pathname") == "/submit"
        browser.ask("Input.insertText", text="2026/")
        offered("in:2026/<i>.wav", "in:2026/a #1.wav", "in:2026/b.wav")
        browser.run("document.querySelector('#find button').click()")
        until(browser, f"{sources} == 'in:c.wav\\nin:2026/<i>.wav\\nin:2026/a #1.wav\\nin:2026/b.wav\\n'")
        assert browser.run("document.querySelector('[role=status]').textContent") == "3 files are added"
        # No file is named twice.
        browser.run("document.querySelector('#find button').click()")
        until(browser, "document.querySelector('[role=status]').textContent == '0 files are added'")
        (ledger.folder / "in/2026/d.wav").touch()
        browser.run("document.querySelector('#find button').click()")
        until(browser, "document.querySelector('[role=status]').textContent == '1 file is added'")
        browser.run("document.querySelector('[name=destination]').value = 'in:{dir}/{stem}.flac';"
                    "document.querySelector('form.form').requestSubmit()")
        until(browser, "document.querySelector('[name=step]') != null")
        assert "5 files would become 5 jobs" in browser.run("document.body.innerText")
        assert browser.run("bad") == []


def test_no_other_site_sends_files(ledger):
    (ledger.folder / "in").mkdir()
    with Coordinator(ledger, "--root", f"in={ledger.folder}/in", "--uploads", "in", "--open-role", "submitter") as api:
        for fields in [{"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}]:
            answer = api.client.put("/files/in/a.wav", content=b"x", headers=fields)
            assert answer.status_code == 403 and answer.json()["code"] == "foreign_origin"
        assert api.client.put("/files/in/../a.wav", content=b"x", headers={"origin": api.url}).status_code >= 400
        assert list((ledger.folder / "in").iterdir()) == []
        assert api.client.put("/files/in/a.wav", content=b"x", headers={"origin": api.url}).status_code == 201
        assert (ledger.folder / "in" / "a.wav").read_bytes() == b"x"
    with Coordinator(ledger, "--root", f"in={ledger.folder}/in", "--uploads", "in") as api:
        assert api.client.put("/files/in/b.wav", content=b"x", headers={"origin": api.url}).status_code == 401


def test_back_and_forward_lead_where_they_came_from(browser, ledger, guarded):
    secret = text_of(ledger, "submitter")
    batch = submit(guarded, secret, 2)
    log_in(browser, guarded, secret, "/jobs?state=waiting")
    browser.run(f"document.querySelector('a[href=\"/jobs/{batch['firstJob']}\"]').click()")
    until(browser, f"location.pathname == '/jobs/{batch['firstJob']}'")
    browser.run("history.back()")
    until(browser, f"location.search == '?state=waiting' && {ROWS}.length == 2")
    browser.run("history.forward()")
    until(browser, f"location.pathname == '/jobs/{batch['firstJob']}'")
    # What was changed meanwhile is seen, wherever the browser has kept the page.
    browser.run("history.back()")
    until(browser, "location.search == '?state=waiting'")
    guarded.post("/api/v1/changes", {"change": "cancel", "filter": {"id": [batch["firstJob"]]}},
                 headers={"authorization": f"Bearer {secret}"})
    until(browser, f"{ROWS}.length == 1")


def test_it_prints_what_it_shows(browser, ledger, guarded):
    secret = text_of(ledger, "submitter")
    submit(guarded, secret, 3)
    log_in(browser, guarded, secret, "/jobs")
    pdf = base64.b64decode(browser.ask("Page.printToPDF", printBackground=False)["data"])
    assert pdf.startswith(b"%PDF-") and 1 <= pdf.count(b"/Type /Page\n") <= 2
    browser.ask("Emulation.setEmulatedMedia", media="print")
    hidden = "[...document.querySelectorAll('.top, .filter')].every(part => getComputedStyle(part).display == 'none')"
    assert browser.run(hidden) and browser.run(f"{ROWS}.length") == 3
    assert browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_everything_is_reached_by_keyboard(browser, ledger, guarded):
    secret = text_of(ledger, "submitter")
    submit(guarded, secret, 1)
    log_in(browser, guarded, secret, "/jobs")
    browser.run("document.activeElement.blur()")
    reached = set()
    for _ in range(60):
        browser.ask("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
        browser.ask("Input.dispatchKeyEvent", type="keyUp", key="Tab", code="Tab", windowsVirtualKeyCode=9)
        # What has the focus is seen to have it.
        assert browser.run("document.activeElement == document.body || document.activeElement.matches(':focus-visible')")
        reached.add(browser.run("document.activeElement.getAttribute('href') ?? document.activeElement.name ?? ''"))
    assert {"#main", "/", "/jobs", "/submit", "source-contains", "state", "id", "change", "/jobs/1"} <= reached


def test_letters_act_on_the_row_that_has_the_focus(browser, ledger, guarded):
    secret = text_of(ledger, "submitter")
    batch = submit(guarded, secret, 3)
    log_in(browser, guarded, secret, "/jobs")
    assert "In a list: j k move x select r retry a accept c cancel" in browser.run("document.querySelector('.foot').innerText")

    def press(letter):
        browser.ask("Input.dispatchKeyEvent", type="keyDown", key=letter, text=letter)
        browser.ask("Input.dispatchKeyEvent", type="keyUp", key=letter)

    browser.run("document.activeElement.blur()")
    press("c")
    browser.run("document.querySelector('[name=queue]').focus()")
    press("c")
    assert browser.run("location.pathname + document.querySelector('[name=queue]').value") == "/jobsc"
    browser.run(f"{ROWS}[0].querySelector('.src a').focus()")
    press("j")
    press("c")
    # Of this job alone, though none was selected.
    until(browser, "location.pathname == '/changes/preview'")
    assert browser.run("new URLSearchParams(location.search).getAll('id')") == [str(batch["lastJob"] - 1)]


def test_a_hundred_thousand_jobs_change_while_they_are_shown(browser, ledger, guarded):
    secret = text_of(ledger, "submitter")
    headers = {"authorization": f"Bearer {secret}", "content-type": "application/x-ndjson"}
    batch = guarded.client.post("/api/v1/batches", content=lines(jobs(100_000)), headers=headers).json()
    log_in(browser, guarded, secret)
    paths = ["/", "/jobs", "/jobs?state=waiting", "/batches", "/queues", "/changes/preview?change=cancel&state=waiting"]
    # What the ledger reads for them is held by the tests of its plans. Here, they show no more of many jobs than of few.
    for path in [*paths, f"/batches/{batch['batch']}"]:
        show(browser, guarded, path)
        assert browser.run("document.querySelectorAll('*').length") < 1_000, path
    guarded.post("/api/v1/bulk-changes", {"change": "cancel", "filter": {"batch": batch["batch"]}},
                 headers={"authorization": f"Bearer {secret}"})
    # The figures follow the change, to the last job.
    until(browser, "[...document.querySelectorAll('dl div')].some(part => /^cancelled\\s+100,000$/.test(part.innerText))")
    assert browser.run("bad") == []
