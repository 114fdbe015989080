"""Presets that operators put into the ledger, over HTTP."""

import json

import pytest

from coordinators import Coordinator
from test_access import token
from test_operations import lines, problem


@pytest.fixture
def guarded(ledger):
    """A coordinator that serves nobody without a token."""
    with Coordinator(ledger) as api:
        yield api


@pytest.fixture
def operator(ledger):
    return token(ledger, "operator", name="boss")


def recipe(bit_rate=96_000, **more):
    return {"version": 1, "sources": [{"location": "{source}"}], "outputs": [
        {"location": "{stem}.{ext}", "format": {"container": "mp3", "bitRate": bit_rate}, **more}]}


def put(api, headers, name="house", value=None, query=""):
    return api.ask("PUT", f"/api/v1/presets/{name}{query}", json={"recipe": value or recipe()}, headers=headers)


def own(api, headers, query=""):
    return [p for p in api.get(f"/api/v1/presets{query}", headers=headers)["presets"] if p["from"] != "built-in"]


def test_each_change_is_a_version(guarded, operator):
    assert put(guarded, operator).json()["version"] == 1
    # A repetition, as after a lost answer.
    assert put(guarded, operator).json()["version"] == 1
    second = put(guarded, operator, value=recipe(64_000)).json()
    assert second["version"] == 2 and second["createdBy"] == "token:boss" and second["from"] == "ledger"
    [listed] = own(guarded, operator)
    assert listed["version"] == 2 and listed["recipe"]["outputs"][0]["format"] == listed["format"]
    assert guarded.get("/api/v1/presets/house", headers=operator)["format"]["bitRate"] == 64_000
    first = guarded.get("/api/v1/presets/house?version=1", headers=operator)
    assert first["recipe"]["outputs"][0]["format"]["bitRate"] == 96_000
    problem(guarded.ask("GET", "/api/v1/presets/house?version=3", headers=operator), 404, "no_such_thing")
    gone = guarded.ask("DELETE", "/api/v1/presets/house", headers=operator)
    assert gone.status_code == 200 and gone.json()["version"] == 2
    problem(guarded.ask("DELETE", "/api/v1/presets/house", headers=operator), 404, "no_such_thing")
    assert own(guarded, operator) == []


def test_built_in_presets_are_shown_and_not_changed(guarded, operator):
    shown = guarded.get("/api/v1/presets/podcast-mp3", headers=operator)
    assert shown["from"] == "built-in" and shown["recipe"]["outputs"][0]["format"]["bitRate"] == 128_000
    problem(put(guarded, operator, name="podcast-mp3"), 400, "bad_parameter")
    problem(guarded.ask("DELETE", "/api/v1/presets/podcast-mp3", headers=operator), 404, "no_such_thing")


@pytest.mark.parametrize("value, pointer", [
    (recipe(onConflict="skip"), "/recipe/outputs/0/onConflict"),
    (recipe(range={"to": "5"}) | {"version": 3}, "/recipe/outputs/0/range"),
    (recipe() | {"sources": [{"location": "in:a.wav"}]}, "/recipe/sources/0/location"),
    (recipe() | {"rate": 1}, "/recipe/rate"),
    (recipe() | {"tags": {"comment": "x" * 9_000}}, "/recipe"),
])
def test_says_what_is_wrong_with_a_recipe(guarded, operator, value, pointer):
    answer = problem(put(guarded, operator, value=value), 400, "bad_body")
    assert [mistake["pointer"] for mistake in answer["errors"]] == [pointer]
    assert own(guarded, operator) == []


def test_a_tenant_uses_its_own(ledger, guarded, operator):
    for name in ["acme", "zenith"]:
        ledger.run("tenants", "create", name)
    acme = token(ledger, "submitter", "--tenant", "acme", name="acme-1")
    zenith = token(ledger, "viewer", "--tenant", "zenith", name="zenith-1")
    assert put(guarded, operator).status_code == 200
    assert put(guarded, operator, value=recipe(64_000), query="?tenant=acme").json()["tenant"] == "acme"
    assert guarded.get("/api/v1/presets/house", headers=acme)["format"]["bitRate"] == 64_000
    assert guarded.get("/api/v1/presets/house", headers=zenith)["format"]["bitRate"] == 96_000
    assert [p["tenant"] for p in own(guarded, operator, "?tenant=acme")] == ["acme"]
    assert guarded.ask("GET", "/api/v1/presets?tenant=acme", headers=zenith).status_code == 403
    for headers in [acme, zenith]:
        assert put(guarded, headers).status_code == 403
        assert guarded.ask("DELETE", "/api/v1/presets/house", headers=headers).status_code == 403
    assert put(guarded, operator, query="?tenant=nobody").status_code == 422
    rows = [json.loads(line) for line in ledger.run("audit", "--json").splitlines()]
    assert [row["who"] for row in rows if row["what"] == "put_preset"] == ["token:boss", "token:boss"]


@pytest.mark.parametrize("form", ["object", "lines"])
def test_jobs_name_presets_of_the_ledger(ledger, guarded, operator, form):
    ledger.run("tenants", "create", "acme")
    ledger.run("tenants", "limit", "acme", "--destination", "out:{tenant}/{preset}/{stem}.{ext}")
    acme = token(ledger, "submitter", "--tenant", "acme", name="acme-1")
    put(guarded, operator, value=recipe() | {"tags": {"artist": "Us"}, "verify": True})
    jobs = [{"source": "in:a.wav", "preset": "house"}]
    if form == "object":
        answer = guarded.ask("POST", "/api/v1/batches", json={"jobs": jobs}, headers=acme)
    else:
        kind = {"content-type": "application/x-ndjson"}
        answer = guarded.ask("POST", "/api/v1/batches", content=lines(jobs), headers=acme | kind)
    assert answer.status_code == 201, answer.text
    put(guarded, operator, value=recipe(64_000))
    made = guarded.get(f"/api/v1/jobs/{answer.json()['firstJob']}", headers=acme)["recipe"]
    [output] = made["outputs"]
    assert output["ownPreset"] == {"name": "house", "version": 1} and output["format"]["bitRate"] == 96_000
    assert output["location"] == "out:acme/house/a.mp3" and made["tags"] == {"artist": "Us"} and made["verify"]
    unknown = {"jobs": [{"source": "in:a.wav", "output": "out:acme/x.mp3", "preset": "studio"}]}
    problem(guarded.ask("POST", "/api/v1/batches", json=unknown, headers=acme), 400, "bad_body")
