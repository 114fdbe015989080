"""The page of a private cluster: `sluice open` makes links to it, each of which logs one browser in."""

import contextlib
import hashlib
import json
import os
import re
import stat
import subprocess
import time
import wave

import httpx
import pytest

from browsers import Browser
from clusters import PrivateCluster
from coordinators import takes_less_than
from terminal import PATIENCE, free_port
from test_page_browser import WATCH, until

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def cluster():
    with PrivateCluster() as cluster:
        cluster.facts = cluster.up()
        yield cluster


@pytest.fixture
def client(cluster):
    with httpx.Client(base_url=cluster.facts["page"], timeout=PATIENCE) as client:
        yield client


def session(cluster, client):
    """The headers of a new session."""
    answer = client.get(cluster.link())
    assert answer.status_code == 303, answer.text
    # The client keeps cookies by itself, which tests of several sessions cannot use.
    client.cookies.clear()
    return {"cookie": answer.headers["set-cookie"].partition(";")[0]}


def file_of(cluster, link):
    """The file that leads a browser to a link."""
    secret = link.rpartition("=")[2]
    return cluster.folder / f"page/{hashlib.sha256(secret.encode()).hexdigest()}.html"


def test_a_link_logs_in_once(cluster, client):
    link = cluster.link()
    secret = link.rpartition("=")[2]
    assert link == f"{cluster.facts['page']}/login?link={secret}" and re.fullmatch("[0-9a-f]{64}", secret)
    # A look ahead logs in no browser.
    assert client.head(link).status_code == 200
    assert client.get(link, headers={"sec-purpose": "prefetch"}).status_code == 503
    answer = client.get(link)
    client.cookies.clear()
    assert (answer.status_code, answer.headers["location"], answer.text) == (303, "/", "")
    assert answer.headers["referrer-policy"] == "no-referrer" and answer.headers["cache-control"] == "no-store"
    name, _, rest = answer.headers["set-cookie"].partition("=")
    value, _, rest = rest.partition("; ")
    assert name == f"sluice_session_{cluster.facts['page'].rpartition(':')[2]}"
    assert rest == "Path=/; HttpOnly; SameSite=Strict" and secret not in value
    cookie = {"cookie": f"{name}={value}"}
    page = client.get("/", headers=cookie)
    assert page.status_code == 200 and "Your private cluster" in page.text and secret not in page.text

    again = client.get(link)
    assert again.status_code == 401 and "set-cookie" not in again.headers and "works once" in again.text
    assert secret not in again.text
    # The session is for the page, in the browser that has it.
    assert client.get("/api/v1/jobs", headers=cookie).status_code == 401
    assert client.get("/").status_code == 401
    logs = cluster.logs()
    assert "serving HTTP" in logs or '"listens"' in logs
    assert secret not in logs and value not in logs


def test_a_link_ends_after_some_minutes(cluster, client):
    link = cluster.link()
    file = file_of(cluster, link)
    then = time.time() - 400
    os.utime(file, (then, then))
    assert client.get(link).status_code == 401
    assert not file.exists()


def test_without_a_session_there_is_nothing(cluster, client):
    page = client.get("/jobs")
    assert page.status_code == 401 and "sluice open" in page.text
    for path in ["/api/v1/jobs", "/api/v1/files", "/metrics"]:
        assert client.get(path).status_code == 401, path
    for wrong in ["x", "0" * 64, "../" * 20, "%00"]:
        assert client.get(f"/login?link={wrong}").status_code in [400, 401]


def test_other_names_of_the_machine_lead_nowhere(cluster, client):
    """A site can have a name that leads to this machine, and a browser takes it for one site."""
    headers = session(cluster, client)
    link = cluster.link()
    assert client.get(link, headers={"host": "evil.example"}).status_code == 421
    assert client.get("/", headers={**headers, "host": "evil.example"}).status_code == 401
    # Even if the browser had a session under that name.
    value = headers["cookie"].partition("=")[2]
    named = {"cookie": f"sluice_session={value}", "host": "evil.example"}
    assert client.get("/", headers=named).status_code == 421
    # The link has not been used up.
    assert client.get(link).status_code == 303
    foreign = {**headers, "origin": "http://evil.example", "content-type": "application/x-www-form-urlencoded"}
    assert client.post("/queues", content="pause=default", headers=foreign).status_code == 403


def test_the_owner_submits_and_steers(cluster, client):
    headers = {**session(cluster, client), "origin": cluster.facts["page"], "content-type": "application/x-www-form-urlencoded"}
    (cluster.home / "broken.wav").write_bytes(b"no sound")
    draft = "sources=local:broken.wav&destination=local:%7Bstem%7D.flac&conflict=fail"
    shown = client.post("/submit", content=draft, headers=headers)
    assert shown.status_code == 200 and "local:broken.flac" in shown.text
    sent = client.post("/submit", content=f"{draft}&step=submit&key=one", headers=headers)
    assert sent.status_code == 303
    cluster.run("wait", "--batch", sent.headers["location"].rpartition("/")[2], code=3)
    # What the command has submitted belongs to another submitter.
    cluster.run("submit", "broken.wav", "--to", "{stem}.mp3", "--wait", code=3)
    number = max(cluster.run("jobs", "--quiet", "--state", "failed").stdout.split(), key=int)
    done = client.post(f"/jobs/{number}", content="change=accept", headers=headers)
    assert done.status_code == 303, done.text
    for change in ["pause", "resume"]:
        assert client.post("/queues", content=f"{change}=default", headers=headers).status_code == 303
    assert "page@local" in cluster.run("audit").stdout


def test_logging_out_ends_the_session(cluster, client):
    headers = session(cluster, client)
    assert client.get("/", headers=headers).status_code == 200
    form = {"origin": cluster.facts["page"], "content-type": "application/x-www-form-urlencoded"}
    assert client.post("/logout", content="", headers={**headers, **form}).status_code == 303
    ended = client.get("/", headers=headers)
    assert ended.status_code == 401 and "Your session has ended" in ended.text


def test_what_lasts_ends_with_the_session(cluster, client):
    with wave.open(str(cluster.home / "long.wav"), "wb") as long:
        long.setparams((2, 2, 48_000, 0, "NONE", None))
        # More than sockets hold.
        long.writeframes(bytes(64 << 20))
    cluster.run("submit", "long.wav", "--to", "{stem}.copy.wav", "--wait")
    [number] = cluster.run("jobs", "--quiet", "--source-contains", "long.wav").stdout.split()
    other = session(cluster, client)
    form = {"origin": cluster.facts["page"], "content-type": "application/x-www-form-urlencoded"}
    with contextlib.ExitStack() as stack:
        def begin(path, headers):
            answer = stack.enter_context(client.stream("GET", path, headers=headers))
            assert answer.status_code == 200
            pieces = answer.iter_raw()
            assert next(pieces)
            return pieces

        kept = begin("/live?queues=true", other)

        def log_out(_):
            headers = session(cluster, client)
            events, download = begin("/live?queues=true", headers), begin(f"/jobs/{number}/outputs/1", headers)
            assert client.post("/logout", content="", headers={**headers, **form}).status_code == 303
            start = time.monotonic()
            for _ in events:
                # Signs of life come even if nothing changes.
                assert time.monotonic() - start < PATIENCE
            with pytest.raises(httpx.TransportError):
                for _ in download:
                    pass
            return time.monotonic() - start

        takes_less_than(20, log_out)
        # Those of another session go on.
        client.post("/queues", content="pause=default", headers={**other, **form})
        told = b""
        while b'"isPaused":true' not in told:
            told += next(kept)
        client.post("/queues", content="resume=default", headers={**other, **form})


def test_the_socket_is_for_its_user(cluster):
    path = f"{cluster.facts['socket']}/page.sock"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(cluster.folder / "page").st_mode) == 0o700
    with httpx.Client(transport=httpx.HTTPTransport(uds=path), base_url="http://localhost:8080", timeout=PATIENCE) as client:
        assert client.get("/").status_code == 401
        # As through a tunnel of ssh, where browsers have another port.
        secret = cluster.link().rpartition("=")[2]
        assert client.get(f"/login?link={secret}", headers={"host": "evil.example"}).status_code == 421
        cookie = client.get(f"/login?link={secret}").headers["set-cookie"].partition(";")[0]
        assert cookie.startswith("sluice_session_8080=")
        assert client.get("/", headers={"cookie": cookie}).status_code == 200


def sent_by_another_user(page, text, answer=True):
    """What the page answers to a request that a process of another user sends; that process may end at once instead."""
    host, port = page.removeprefix("http://").split(":")
    script = f'exec 3<>/dev/tcp/{host}/{port} && printf %s "$0" >&3' + (" && cat <&3" if answer else "")
    return subprocess.run(
        ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", script, text],
        capture_output=True, text=True, timeout=PATIENCE,
    ).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_of_the_machine_is_not_served(cluster, client):
    """Browsers send the cookie to every port of the machine, and so to servers of its other users."""
    headers = session(cluster, client)
    page = cluster.facts["page"]
    host = page.removeprefix("http://")
    for path in ["/", "/places?begin=local:", "/api/v1/jobs", "/healthz"]:
        request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {headers['cookie']}\r\n\r\n"
        answer = sent_by_another_user(page, request)
        assert answer.startswith("HTTP/1.1 403 ") and '"other_user"' in answer, answer
    # The link is not used up.
    link = cluster.link()
    request = f"GET {link.removeprefix(page)} HTTP/1.1\r\nHost: {host}\r\n\r\n"
    assert sent_by_another_user(page, request).startswith("HTTP/1.1 403 ")
    form = "pause=default"
    request = (
        f"POST /queues HTTP/1.1\r\nHost: {host}\r\nOrigin: {page}\r\nCookie: {headers['cookie']}\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(form)}\r\n\r\n{form}"
    )
    assert sent_by_another_user(page, request).startswith("HTTP/1.1 403 ")
    # The system shows the connections of processes that have ended as those of root.
    for _ in range(20):
        sent_by_another_user(page, request, answer=False)
    assert client.get(link).status_code == 303
    queues = [json.loads(line) for line in cluster.run("queues", "--json").stdout.splitlines()]
    assert [queue["isPaused"] for queue in queues if queue["queue"] == "default"] == [False]


def test_outputs_are_heard(cluster, client):
    """What the worker may read, its owner may download."""
    headers = session(cluster, client)
    with wave.open(str(cluster.home / "talk.wav"), "wb") as talk:
        talk.setparams((1, 2, 8_000, 0, "NONE", None))
        talk.writeframes(b"\0\1" * 8_000)
    cluster.run("submit", "talk.wav", "--to", "{stem}.flac", "--label", "talk", "--wait")
    [number] = cluster.run("jobs", "--quiet", "--source-contains", "talk.wav").stdout.split()
    answer = client.get(f"/jobs/{number}/outputs/1", headers=headers)
    assert answer.status_code == 200 and answer.content == (cluster.home / "talk.flac").read_bytes()


def test_a_browser_is_led_to_the_page(cluster, tmp_path):
    """By the file that `sluice open` gives it, as a desktop does."""
    link = cluster.link()
    file = file_of(cluster, link)
    browser = Browser(tmp_path)
    try:
        browser.ask("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        browser.ask("Page.navigate", url=f"file://{file}")
        until(browser, f"location.href == '{cluster.facts['page']}/' && document.querySelector('.who b') != null")
        assert "Your private cluster" in browser.run("document.body.textContent")
        assert browser.run("document.cookie") == "" and browser.run("document.referrer") in ["", f"{cluster.facts['page']}/"]
        assert browser.run("bad") == []
        # Going back leads to no page with the link.
        assert link.rpartition("=")[2] not in browser.run("document.documentElement.outerHTML")
    finally:
        browser.stop()
    assert not file.exists()


def test_a_session_ends_with_the_cluster(tmp_path):
    with PrivateCluster() as cluster:
        # The same port, so that a browser would send its cookie again.
        port = free_port()
        page = cluster.up("--port", str(port))["page"]
        assert page == f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=page, timeout=PATIENCE) as client:
            headers = session(cluster, client)
            assert client.get("/", headers=headers).status_code == 200
            cluster.run("down")
            with pytest.raises(httpx.TransportError):
                client.get("/")
            assert cluster.up()["page"] == page
            assert client.get("/", headers=headers).status_code == 401
            assert client.get("/", headers=session(cluster, client)).status_code == 200
