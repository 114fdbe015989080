"""`sluice up` and `sluice open` on a terminal: the page of the private cluster, and the browser that is started for it."""

import os
import socket

import pytest

from clusters import PrivateCluster
from terminal import SLUICE, Terminal


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


def opened(tmp_path):
    """What the browser was started with."""
    path = tmp_path / "arguments"
    return path.read_text().splitlines() if path.exists() else []


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
    link, note = said
    assert note == "the link works once, for five minutes"
    [file] = opened(tmp_path)
    secret = link.rpartition("=")[2]
    assert secret not in file and os.stat(file).st_mode & 0o777 == 0o600
    assert link in open(file).read()


def test_no_browser_is_started_where_there_is_none(cluster, desktop, tmp_path):
    on_terminal(cluster, "open", "--print", **desktop)
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
    assert said[0] == "https://sluice.example" and opened(tmp_path) == ["https://sluice.example"]
    said = on_terminal(cluster, "open", "--url", "unix:/run/sluice/http", code=7, **desktop)
    assert said[0] == "error: browsers cannot reach unix:/run/sluice/http"
    said = on_terminal(cluster, "open", "--database", "postgresql://db.example/audio", code=7, **desktop)
    assert said[0] == "error: the ledger in use is reached by its database, which has no page"


def test_the_page_has_the_port_that_was_asked_for():
    with PrivateCluster() as cluster, socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        before = cluster.up()
        refused = cluster.run("up", "--port", str(port), code=7).stderr
        assert f"the page cannot have port {port}" in refused
        taken.close()
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
