"""Coordinators as they are installed: with a login of their own, several behind one address, killed under load."""

import http.client
import os
import pathlib
import random
import threading
import time

import httpx
import pytest

from coordinators import Coordinator, CoordinatorProcess
from terminal import PATIENCE, free_port
from test_access import token
from test_events import Stream
from test_operations import jobs
from test_proxies import Proxy

pytestmark = pytest.mark.process

SUBMITTERS, BATCHES, JOBS, KILLS = 4, 40, 5, 9


def test_a_login_of_its_own_is_enough(ledger):
    login = f"face_{os.urandom(4).hex()}"
    ledger.query(f"create role {login} login in role sluice_face")
    own = {"SLUICE_DATABASE_URL": ledger.variables["SLUICE_DATABASE_URL"].replace("postgres@", f"{login}@")}
    other = type(ledger)(ledger.server, ledger.name, ledger.folder)
    other.variables = own
    with Coordinator(other) as api:
        api.client.headers.update(token(ledger, "submitter"))
        receipt = api.post("/api/v1/batches", {"jobs": jobs(3)}).json()
        assert api.get(f"/api/v1/jobs/{receipt['firstJob']}")["state"] == "waiting"
        end = time.monotonic() + PATIENCE
        while ledger.query("select count(*) from sluice.count_delta") != "0":
            assert time.monotonic() < end, "nobody keeps house"
            # Housekeeping tells nobody what it has folded.
            time.sleep(0.1)
    assert '"trouble"' not in api.said(), api.said()


@pytest.fixture
def fleet(ledger, tmp_path_factory):
    fleet = [CoordinatorProcess(ledger, "--open-role", "submitter", listen=str(free_port())) for _ in range(3)]
    for api in fleet:
        api.__enter__()
    yield fleet
    for api in fleet:
        api.__exit__()


@pytest.fixture
def proxy(fleet, tmp_path_factory):
    proxy = Proxy("nginx", [api.port for api in fleet], pathlib.Path(tmp_path_factory.mktemp("nginx")))
    yield proxy
    proxy.stop()


def submit(proxy, number, receipts):
    """Submits batches, each again and again with its key until there is an answer."""
    with httpx.Client(base_url=f"http://127.0.0.1:{proxy.port}", timeout=PATIENCE) as client:
        for place in range(BATCHES):
            key = f"{number}-{place}"
            while True:
                try:
                    answer = client.post(
                        "/api/v1/batches", json={"jobs": jobs(JOBS, key)}, headers={"idempotency-key": key}
                    )
                except httpx.TransportError:
                    continue
                if answer.status_code in [502, 503, 504]:
                    continue
                assert answer.status_code in [200, 201], answer.text
                receipts[key] = answer.json()
                break
            shown = None
            while shown is None:
                try:
                    answer = client.get(f"/api/v1/jobs/{receipts[key]['firstJob']}")
                except httpx.TransportError:
                    continue
                shown = answer if answer.status_code not in [502, 503, 504] else None
            assert shown.status_code == 200 and shown.json()["state"] == "waiting", shown.text


def follow(proxy, total, seen):
    """Follows the events of the queues until all jobs wait, over as many connections as that takes."""
    while not seen or seen[-1] != total:
        try:
            stream = Stream(proxy, "queues=true")
            seen.append(0)
            stream.until(lambda value: seen.append(value["jobs"]["waiting"]) or seen[-1] == total)
            stream.close()
        except (AssertionError, OSError, EOFError, http.client.HTTPException):
            # The coordinator behind this connection is gone.
            continue


def test_any_coordinator_may_be_killed_under_load(fleet, proxy, ledger):
    receipts, seen, failed = {}, [], []

    def watched(target, *arguments):
        def run():
            try:
                target(*arguments)
            except BaseException as error:
                failed.append(error)
        thread = threading.Thread(target=run)
        thread.start()
        return thread

    total = SUBMITTERS * BATCHES * JOBS
    threads = [watched(submit, proxy, number, receipts) for number in range(SUBMITTERS)]
    threads.append(watched(follow, proxy, total, seen))
    chance = random.Random(7)
    for kill in range(KILLS):
        api = fleet[kill % len(fleet)]
        # Somewhere in what it does.
        time.sleep(chance.uniform(0.05, 0.4))
        api.process.kill()
        api.process.wait(PATIENCE)
        api.client.close()
        api.__enter__()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert not failed, failed
    assert len(receipts) == SUBMITTERS * BATCHES
    assert len({receipt["batch"] for receipt in receipts.values()}) == len(receipts)
    for key, receipt in receipts.items():
        sources = ledger.query(f"select source from sluice.job where batch = {receipt['batch']} order by id").split("\n")
        assert sources == [f"in:{key}/{place}.wav" for place in range(JOBS)]
    assert ledger.query("select count(*) from sluice.job") == str(total)
    # The stream was cut and continued elsewhere.
    assert seen[-1] == total and seen.count(0) > 1, seen
