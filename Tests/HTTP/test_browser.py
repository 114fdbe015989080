"""A page in a browser sends a file that somebody chose."""

import os

import pytest

from browsers import Browser
from coordinators import Coordinator
from test_access import token
from test_uploads import PATH, files, place

pytestmark = pytest.mark.process

SEND = """
    fetch("%s", {method: "PUT", headers: {authorization: "%s"}, body: document.querySelector("input").files[0]})
        .then(answer => answer.json().then(body => [answer.status, body.code ?? null]))
"""


@pytest.fixture
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.stop()


def test_a_page_sends_a_chosen_file(browser, ledger):
    submitter = token(ledger, "submitter")["authorization"]
    talk = ledger.folder / "a talk.wav"
    talk.write_bytes(os.urandom(20_000_000))
    with Coordinator(ledger, *place(ledger.folder)) as api:
        browser.open(api.url)
        browser.run("document.body.innerHTML = '<input type=file>'")
        browser.choose(talk)
        assert browser.run("document.querySelector('input').files[0].size") == 20_000_000
        assert browser.run(SEND % (f"{PATH}talk.wav", "Bearer of nothing")) == [401, "bad_token"]
        assert files(ledger.folder / "in") == []
        assert browser.run(SEND % (f"{PATH}a%20talk.wav", submitter)) == [201, None]
        assert browser.run(SEND % (f"{PATH}a%20talk.wav", submitter)) == [200, None]
        assert (ledger.folder / "in/a talk.wav").read_bytes() == talk.read_bytes()
        talk.write_bytes(b"another")
        browser.choose(talk)
        assert browser.run(SEND % (f"{PATH}a%20talk.wav", submitter)) == [409, "file_exists"]
        # Pages of other origins get no leave.
        browser.open("http://localhost:1")
        browser.run("document.body.innerHTML = '<input type=file>'")
        browser.choose(talk)
        refused = SEND % (f"{api.url}{PATH}other.wav", submitter)
        assert browser.run(f"{refused.strip()}.catch(error => error.name)") == "TypeError"
        assert files(ledger.folder / "in") == ["a talk.wav"]
