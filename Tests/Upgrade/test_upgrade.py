"""The last release and the current build on one ledger, as during an upgrade of many machines."""

import hashlib
import json
import os
import pathlib
import subprocess
import time

import pytest

from conftest import RELEASE
from terminal import SLUICE, environment

PATIENCE = 300
NEW_VERSION = len(list((pathlib.Path(__file__).parents[2] / "migrations/tables").glob("*.sql")))
CATALOG = (pathlib.Path(__file__).parent / "catalog.sql").read_text()
OLD_VERSION = int(os.environ["SLUICE_RELEASE_LEDGER"])


class Fleet:
    """A database, two roots, and services and commands of both builds."""

    def __init__(self, server, folder):
        self.server, self.folder = server, folder
        self.name = f"upgrade_{os.urandom(6).hex()}"
        server.query(f"create database {self.name}")
        self.variables = environment(SLUICE_DATABASE_URL=server.url.format(self.name))
        self.services = []

    def call(self, program, *words):
        return subprocess.run(
            [str(program), *words], cwd=self.folder, env=self.variables, capture_output=True, text=True, timeout=PATIENCE
        )

    def run(self, program, *words):
        done = self.call(program, *words)
        assert done.returncode == 0, f"{program} {words}: {done.stderr}"
        return done.stdout

    def start(self, program, *words):
        log = self.folder / f"{len(self.services)}.log"
        with open(log, "wb") as output:
            service = subprocess.Popen(
                [str(program), *words], cwd=self.folder, env=self.variables, stdout=output, stderr=output
            )
        service.log = log
        self.services.append(service)
        return service

    def worker(self, program, name):
        return self.start(
            program, "worker", "--name", name, "--slots", "1", "--root", "in=in", "--root", "out=out", "--grace", "1s"
        )

    def submit(self, program, pattern, label):
        self.run(
            program, "submit", "-r", "in", "--include", pattern, "--root", "in=in", "--root", "out=out",
            "--to", f"out/{label}/{{stem}}.flac", "--label", label,
        )

    def query(self, statement):
        return self.server.query(statement, self.name)

    def states(self):
        rows = self.query("select state, count(*) from sluice.finished group by state").splitlines()
        return {row.split("|")[0]: int(row.split("|")[1]) for row in rows}

    def wait(self, what, condition):
        end = time.monotonic() + PATIENCE
        while not condition():
            for service in self.services:
                assert service.poll() in (None, 0), f"waiting until {what}: {service.log.read_text()}"
            assert time.monotonic() < end, f"waiting until {what}: {self.states()}"
            # The ledger sends no event to those who only look.
            time.sleep(0.05)

    def stop(self):
        for service in self.services:
            if service.poll() is None:
                service.terminate()
            assert service.wait(PATIENCE) == 0, service.log.read_text()


@pytest.fixture
def fleet(server, folder):
    fleet = Fleet(server, folder)
    yield fleet
    for service in fleet.services:
        if service.poll() is None:
            service.kill()
            service.wait()


def digests(folder):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}


def test_the_release_works_on_a_migrated_ledger_beside_this_build(fleet):
    fleet.run(RELEASE, "migrate")
    old = fleet.worker(RELEASE, "old")
    fleet.start(RELEASE, "coordinator")
    fleet.submit(RELEASE, "0*.wav", "before")
    fleet.submit(RELEASE, "long.wav", "long")
    fleet.wait("half of the jobs are done", lambda: fleet.states().get("completed", 0) >= 50)

    # The migration, while the earlier release works.
    answer = json.loads(fleet.run(SLUICE, "migrate", "--json"))
    assert [step["version"] for step in answer["applied"]] == list(range(OLD_VERSION + 1, NEW_VERSION + 1))
    fleet.worker(SLUICE, "new")
    fleet.start(SLUICE, "coordinator")
    # The earlier worker could do all jobs before the new one has begun.
    working = "select count(*) from sluice.worker where ended_at is null"
    fleet.wait("both workers are there", lambda: fleet.query(working) == "2")
    fleet.submit(SLUICE, "1*.wav", "by-new")
    fleet.submit(RELEASE, "1*.wav", "by-old")
    fleet.wait("all jobs are done", lambda: fleet.states() == {"completed": 301})

    # Nothing was lost, done twice or made differently, and the worker of the release is still the same process.
    # A worker may hand back what it has claimed ahead.
    endings = fleet.query("select outcome, code, count(*) from sluice.attempt where outcome <> 'released' group by 1, 2")
    assert endings == "completed||301"
    assert digests(fleet.folder / "out/by-new") == digests(fleet.folder / "out/by-old")
    assert fleet.query("select count(distinct worker) from sluice.attempt") == "2"
    assert old.poll() is None
    fleet.stop()


def test_commands_of_the_release_read_and_change_a_migrated_ledger(fleet):
    fleet.run(SLUICE, "migrate")
    fleet.submit(SLUICE, "00*.wav", "listed")
    worker = fleet.worker(SLUICE, "new")
    fleet.wait("all jobs are done", lambda: fleet.states() == {"completed": 10})
    fleet.run(RELEASE, "wait", "--batch", "last")
    (fleet.folder / "in/broken.wav").write_text("no sound")
    fleet.submit(RELEASE, "broken.wav", "broken")
    fleet.wait("the last job has failed", lambda: fleet.states() == {"completed": 10, "failed": 1})
    for words in [
        ["status", "--json"], ["jobs", "--json"], ["job", "1", "--json"], ["batches", "--json"], ["errors", "--json"],
        ["queues", "--json"], ["workers", "--json"], ["check", "--all", "--root", "out=out", "--json"],
    ]:
        old, new = fleet.run(RELEASE, *words), fleet.run(SLUICE, *words)
        assert old and new, words
        # A later build may add fields; those of the release keep their names.
        assert fields(old) <= fields(new), words
    old, new = (fleet.run(build, "export", "--batch", "1").splitlines() for build in [RELEASE, SLUICE])
    # A later build may add columns at the end.
    assert len(old) == len(new) == 11 and all(b.startswith(f"{a}\t") for a, b in zip(old, new))
    worker.terminate()
    assert worker.wait(PATIENCE) == 0
    fleet.submit(SLUICE, "01*.wav", "changed")
    fleet.run(RELEASE, "prioritize", "9", "--batch", "last", "--yes")
    fleet.run(RELEASE, "cancel", "--batch", "last", "--yes")
    fleet.run(RELEASE, "queues", "pause", "default")
    fleet.run(RELEASE, "retry", "--batch", "last", "--state", "cancelled", "--yes")
    code = fleet.query("select code from sluice.attempt where outcome = 'failed'")
    fleet.run(RELEASE, "retry", "--code", code, "--yes")
    assert fleet.query("select count(*) from sluice.waiting") == "11"
    # A migration by the release changes nothing, and says so.
    assert f"at version {NEW_VERSION}" in fleet.run(RELEASE, "migrate")


def fields(text):
    """The paths of all fields of JSON Lines."""
    found = set()

    def walk(value, path):
        if isinstance(value, dict):
            for key, inner in value.items():
                found.add(f"{path}.{key}")
                walk(inner, f"{path}.{key}")
        elif isinstance(value, list):
            for inner in value:
                walk(inner, path + "[]")

    for line in text.splitlines():
        walk(json.loads(line), "")
    return found


def test_a_ledger_of_the_release_becomes_what_this_build_makes(server, folder):
    made, upgraded = Fleet(server, folder), Fleet(server, folder)
    made.run(SLUICE, "migrate")
    upgraded.run(RELEASE, "migrate")
    upgraded.submit(RELEASE, "00*.wav", "old")
    upgraded.run(SLUICE, "migrate")
    facts = []
    for fleet in [made, upgraded]:
        server.query(f"alter database {fleet.name} set search_path = sluice")
        facts.append(fleet.query(CATALOG).splitlines())
    assert facts[0] == facts[1] and len(facts[0]) > 900


def test_this_build_refuses_a_ledger_of_the_release_with_the_reason(fleet):
    fleet.run(RELEASE, "migrate")
    for words in [["worker", "--root", "in=in"], ["coordinator"]]:
        refused = fleet.call(SLUICE, *words)
        assert refused.returncode == 7
        assert f"at version {OLD_VERSION}; this sluice needs {NEW_VERSION}" in refused.stderr
    # Afterwards the ledger is as it was.
    assert f"at version {OLD_VERSION}; nothing to do" in fleet.run(RELEASE, "migrate")
