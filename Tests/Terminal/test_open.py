"""`sluice up` and `sluice open` on a terminal: the page of the private cluster, and the browser that is started for it."""

import os
import re
import socket
import subprocess
import time

import pytest

from clusters import PrivateCluster
from terminal import PATIENCE, SLUICE, Terminal, free_port


@pytest.fixture(scope="module")
def cluster():
    with PrivateCluster() as cluster:
        cluster.up()
        yield cluster


@pytest.fixture
def desktop(cluster, tmp_path):
    """The variables of a desktop whose browser writes down its arguments."""
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> "{tmp_path}/arguments"\n')
    program.chmod(0o755)
    return {**cluster.variables, "DISPLAY": ":0", "BROWSER": str(program)}


def opened(tmp_path, count=0):
    """What the browser was started with: `count` arguments at least, for which it may need some time."""
    path = tmp_path / "arguments"
    end = time.monotonic() + PATIENCE
    while len(arguments := path.read_text().splitlines() if path.exists() else []) < count:
        assert time.monotonic() < end, arguments
        # The command does not wait for the browser.
        time.sleep(0.02)
    return arguments


def on_terminal(cluster, *words, code=0, **variables):
    """The lines that `sluice` prints on a terminal, which is wide enough for a link."""
    with Terminal([SLUICE, *words], cluster.home, columns=160, **variables) as terminal:
        assert terminal.end() == code, terminal.text()
        return terminal.said()


def test_up_names_the_page(cluster):
    page = cluster.up()["page"]
    said = on_terminal(cluster, "up", **cluster.variables)
    assert f'its page is at {page}; "sluice open" opens it' in said


def test_the_browser_gets_no_secret(cluster, desktop, tmp_path):
    said = on_terminal(cluster, "open", **desktop)
    link, note, advice = said
    assert note == "the link works once, within five minutes"
    assert advice == "if the browser does not find the file, open the link above in it"
    [file] = opened(tmp_path, 1)
    secret = link.rpartition("=")[2]
    assert secret not in file and os.stat(file).st_mode & 0o777 == 0o600
    assert link in open(file).read()


def test_no_browser_is_started_where_there_is_none(cluster, desktop, tmp_path):
    said = on_terminal(cluster, "open", "--print", **desktop)
    assert len(said) == 2, said
    on_terminal(cluster, "open", **{**desktop, "DISPLAY": ""})
    # A program reads the link.
    assert cluster.link().startswith(cluster.up()["page"])
    cluster.run("open", **desktop)
    assert opened(tmp_path) == []


def test_a_browser_that_fails_is_told(cluster, desktop):
    said = on_terminal(cluster, "open", **{**desktop, "BROWSER": "/bin/false"})
    assert said[0].startswith("http://127.0.0.1:")
    assert said[-1] == "note:  no browser could be started (/bin/false); open the link yourself"


def test_a_coordinator_of_the_settings_is_opened(cluster, desktop, tmp_path):
    said = on_terminal(cluster, "open", "--url", "https://sluice.example/", **desktop)
    assert said[0] == "https://sluice.example" and opened(tmp_path, 1) == ["https://sluice.example"]
    said = on_terminal(cluster, "open", "--url", "unix:/run/sluice/http", code=7, **desktop)
    assert said[0] == "error: browsers cannot reach unix:/run/sluice/http"
    said = on_terminal(cluster, "open", "--database", "postgresql://db.example/audio", code=7, **desktop)
    assert said[0] == "error: the ledger in use is reached by its database, which has no page"


def test_the_page_has_the_port_that_was_asked_for():
    port = free_port()
    with PrivateCluster() as cluster:
        before = cluster.up()
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", port))
            taken.listen()
            refused = cluster.run("up", "--port", str(port), code=7).stderr
        assert f"the page cannot have port {port}" in refused
        after = cluster.up("--port", str(port))
        assert after["page"] == f"http://127.0.0.1:{port}"
        assert after["processes"]["worker"] == before["processes"]["worker"]
        cluster.run("down")
        # At a later start another program may have it. The cluster starts all the same.
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.1", port))
            other.listen()
            assert cluster.up()["page"] not in [None, f"http://127.0.0.1:{port}"]

        without = cluster.up("--no-page")
        assert "page" not in without and not os.path.exists(f"{without['socket']}/page.sock")
        refused = cluster.run("open", code=7).stderr
        assert "the private cluster serves no page" in refused and "sluice up --port 0" in refused
        cluster.run("down")
        assert "page" not in cluster.up()
        cluster.run("up", "--no-page", "--port", "0", code=2)
        assert cluster.up("--port", "0")["page"].startswith("http://127.0.0.1:")


def can_leave_the_network():
    words = ["unshare", "--net", "true"]
    return os.geteuid() == 0 and subprocess.run(words, capture_output=True).returncode == 0


@pytest.mark.skipif(not can_leave_the_network(), reason="no network namespace can be made here")
def test_without_the_address_of_the_machine_the_page_is_at_its_socket():
    with PrivateCluster() as cluster:
        up = cluster.run("up", behind=["unshare", "--net"]).stdout
        assert "its page is at" not in up
        refused = cluster.run("open", code=7).stderr
        assert "this machine has no address 127.0.0.1" in refused
        path = re.search(r"at the socket (\S+),", refused)[1]
        with socket.socket(socket.AF_UNIX) as page:
            page.connect(path)
            page.sendall(b"GET /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert page.recv(1_024).startswith(b"HTTP/1.1 200 ")
