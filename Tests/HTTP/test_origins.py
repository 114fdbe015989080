"""What pages of other sites have a browser send to a coordinator on this machine."""

import httpx
import pytest

from coordinators import Coordinator
from terminal import PATIENCE
from test_access import token
from test_operations import jobs, problem

CHANGE = {"change": "cancel", "filter": {}, "preview": True}
FOREIGN = [
    {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": ""}, {"origin": "http://localhost:1"},
    {"origin": "file://"}, {"origin": "http://127.0.0.1.evil.example"}, {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    # Another port of a host whose port a proxy leaves out.
    {"host": "localhost", "origin": "https://localhost:8443", "sec-fetch-site": "same-site"},
]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "127.evil.0.1", "localhost.evil.example:80"])
def test_a_foreign_name_opens_nothing_without_a_token(api, host):
    for method, path in [("GET", "/api/v1/jobs"), ("GET", "/metrics"), ("POST", "/api/v1/changes")]:
        body = {"json": CHANGE} if method == "POST" else {}
        problem(api.ask(method, path, headers={"host": host}, **body), 421, "wrong_host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1", "127.1.2.3:80", "[::1]:8080", "[::1]"])
def test_names_of_this_machine_are_its_own(api, host):
    api.get("/api/v1/jobs", headers={"host": host})


def test_a_token_may_come_by_any_name(ledger):
    """Clients that know the coordinator by a name in their network need no option of it."""
    with Coordinator(ledger) as api:
        headers = {**token(ledger, "submitter"), "host": "sluice.internal:8080"}
        assert api.get("/api/v1/jobs", headers=headers) == {"jobs": []}
        assert api.post("/api/v1/batches", {"jobs": jobs(1)}, headers=headers).status_code == 201


def test_a_name_may_be_given(ledger):
    with Coordinator(ledger, "--open-role", "submitter", "--host", "Sluice.internal") as api:
        api.get("/api/v1/jobs", headers={"host": "sluice.internal:8080"})
        page = {"host": "sluice.internal:8080", "origin": "https://sluice.internal"}
        assert api.post("/api/v1/changes", CHANGE, headers=page).status_code == 200
        problem(api.ask("GET", "/api/v1/jobs", headers={"host": "other.internal"}), 421, "wrong_host")


@pytest.mark.parametrize("fields", FOREIGN)
def test_pages_of_other_sites_change_nothing(ledger, api, fields):
    problem(api.post("/api/v1/changes", CHANGE, headers=fields), 403, "foreign_origin")
    with Coordinator(ledger) as guarded:
        headers = {**token(ledger, "submitter"), **fields}
        problem(guarded.post("/api/v1/changes", CHANGE, headers=headers), 403, "foreign_origin")


def test_pages_of_the_same_site_may(api):
    for fields in [{"origin": api.url}, {"sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}]:
        assert api.post("/api/v1/changes", CHANGE, headers=fields).status_code == 200
    # As a proxy passes it on that leaves the port out.
    behind = {"host": "localhost", "origin": "https://localhost:8443"}
    assert api.post("/api/v1/changes", CHANGE, headers=behind).status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_forms_are_not_read(api, kind):
    answer = api.ask("POST", "/api/v1/changes", content=b"{}", headers={"content-type": kind})
    problem(answer, 415, "wrong_type")


def test_a_socket_in_the_file_system_has_no_name(ledger):
    path = ledger.folder / "api"
    with Coordinator(ledger, "--open-role", "viewer", listen=str(path)):
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), timeout=PATIENCE) as client:
            assert client.get("http://any.name/api/v1/jobs").status_code == 200
