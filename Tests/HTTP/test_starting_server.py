"""Services that start before their database does."""

import signal
import subprocess
import time

import pytest
from ledgers import Server, postgres_program

PATIENCE = 600

pytestmark = [pytest.mark.process, pytest.mark.parametrize("service", ["worker", "coordinator"])]


@pytest.fixture
def starting(tmp_path):
    """A ledger whose server says that it is not ready: a standby, which answers nobody before it is promoted."""
    server = Server()
    ledger = server.empty_ledger(tmp_path)
    server.stop()
    place = server.control.index(postgres_program("pg_ctl"))
    data = server.control[server.control.index("-D") + 1]
    subprocess.run([*server.control[:place], "touch", f"{data}/standby.signal"], check=True, cwd="/")
    words = [word for word in server.control if word != "-w"]
    options = f"{server.options} -c hot_standby=off"
    subprocess.run([*words, "-W", "-o", options, "start"], check=True, capture_output=True, cwd="/")
    yield ledger
    server.stop()


@pytest.fixture
def process(starting, service):
    process = starting.start(service)
    yield process
    process.kill()
    process.wait()


def said(ledger, service):
    return (ledger.folder / f"{service}.log").read_text()


def until(event, ledger, service, process):
    end = time.monotonic() + PATIENCE
    while f'"{event}"' not in said(ledger, service):
        assert process.poll() is None and time.monotonic() < end, said(ledger, service)
        # A log that grows wakes no reader.
        time.sleep(0.02)


def test_it_waits_and_says_so(starting, service, process):
    until("ledger_away", starting, service, process)
    subprocess.run([*starting.server.control, "promote"], check=True, capture_output=True, cwd="/")
    until("started", starting, service, process)
    lines = said(starting, service).splitlines()
    events = [event for line in lines for event in ("ledger_away", "ledger_back", "started") if f'"{event}"' in line]
    assert events == ["ledger_away", "ledger_back", "started"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0, said(starting, service)


def test_it_can_be_stopped_meanwhile(starting, service, process):
    until("ledger_away", starting, service, process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0, said(starting, service)
