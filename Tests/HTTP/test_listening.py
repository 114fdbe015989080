"""Commands that follow the API's events: they ask seldom, miss nothing, and need no events."""

import re
import resource
import signal
import subprocess
import time

import pytest

import relay
from coordinators import takes_less_than
from relay import Relay
from terminal import PATIENCE, SLUICE, environment
from test_remote import run, sources, waiting

pytestmark = pytest.mark.process

BATCH = "/api/v1/batches/1"
EVENTS = "/api/v1/events"


@pytest.fixture
def batch(ledger, tmp_path):
    """A batch that nothing works on."""
    ledger.run("submit", *sources(tmp_path, 2), "--to", "out/{stem}.flac")
    return ledger


def finish(process, api, count=2):
    """Ends the jobs, and with them the wait."""
    api.post("/api/v1/changes", {"change": "cancel", "filter": {"batch": 1}})
    rest, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, rest) == (3, f"batch 1  {count} cancelled\n"), said


def asks_seldom(between, path, seconds, let_pass=time.sleep):
    """Measures that a command asks every five seconds, which it does once it hears events: again at most five times, because a busy
    machine takes longer until then."""
    for _ in range(5):
        let_pass(1)
        start, before = time.monotonic(), len(between.requests(path))
        let_pass(seconds)
        if len(between.requests(path)) - before <= 1 + (time.monotonic() - start) / 5:
            return
    raise AssertionError(between.heads)


def test_wait_asks_seldom_and_hears_what_happens(ledger, operator, tmp_path):
    ledger.run("submit", *sources(tmp_path, 6), "--to", "out/{stem}.flac")
    with Relay(operator) as between, waiting(tmp_path, "--batch", "1", SLUICE_URL=between.url) as process:
        between.wait_for(EVENTS, 1)
        # Without events it would be about fifteen times.
        asks_seldom(between, BATCH, 3)

        def cancel_one(number):
            asked = len(between.requests(BATCH)) + 1
            between.wait_for(BATCH, asked)
            start = time.monotonic()
            operator.post("/api/v1/changes", {"change": "cancel", "filter": {"id": [number + 1]}})
            between.wait_for(BATCH, asked + 1)
            return time.monotonic() - start

        # The next look without an event would come five seconds after the last one.
        takes_less_than(4, cancel_one)
        finish(process, operator, 6)


def test_wait_over_many_jobs_hears_of_all(batch, operator, tmp_path):
    """More jobs than a request for events may name."""
    names = [f"archive:in/{number}.wav" for number in range(300)]
    (tmp_path / "names").write_text("\n".join(names))
    batch.run("submit", "--files-from", "names", "--to", "archive:out/{stem}.flac")
    ids = batch.ids("--batch", "2", "--all")
    with Relay(operator) as between, waiting(tmp_path, *ids, SLUICE_URL=between.url) as process:
        between.wait_for(EVENTS, 1)
        assert "queues=true" in between.requests(EVENTS)[0]
        operator.post("/api/v1/changes", {"change": "cancel", "filter": {"batch": 2}})
        assert process.wait(PATIENCE) == 3


def test_wait_continues_where_a_stream_ended(batch, operator, tmp_path):
    streams = [relay.cut_after_an_event, relay.refuse, relay.pass_on]
    with Relay(operator, *streams) as between, waiting(tmp_path, "--batch", "1", SLUICE_URL=between.url) as process:
        between.wait_for(EVENTS, 3)
        assert "Last-Event-ID" not in between.requests(EVENTS)[0]
        assert all(re.search(r"^Last-Event-ID: \d+$", head.replace("\r", ""), re.M)
                   for head in between.requests(EVENTS)[1:3])
        finish(process, operator)


@pytest.mark.parametrize("stream", [
    relay.refuse, relay.be_silent, relay.have_no_end_of_line, relay.flood, relay.be_another_page, relay.know_no_events,
])
def test_wait_needs_no_events(batch, operator, tmp_path, stream):
    with Relay(operator, stream) as between, waiting(tmp_path, "--batch", "1", SLUICE_URL=between.url) as process:
        between.wait_for(EVENTS, 1)
        asked = len(between.requests(BATCH))
        between.wait_for(BATCH, asked + 3)
        finish(process, operator)
    # The largest of all commands so far.
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 400_000


def test_a_silent_stream_does_not_hold_up_a_signal(batch, operator, tmp_path):
    def interrupt(_):
        with Relay(operator, relay.be_silent) as between, \
                waiting(tmp_path, "--batch", "1", SLUICE_URL=between.url) as process:
            between.wait_for(EVENTS, 1)
            between.wait_for(BATCH, len(between.requests(BATCH)) + 1)
            start = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=PATIENCE)
            assert process.returncode in [130, -signal.SIGINT] and "waits for them again" in said, said
            return time.monotonic() - start

    takes_less_than(2, interrupt)


def words(terminal):
    """What a screen shows, without times of day, ages, and where the ledger is, which a coordinator does not tell."""
    text = re.sub(r"( +(postgresql://\S+ )?schema \S+)? +\d\d:\d\d:\d\d", "", terminal.text())
    return re.sub(r"\d+ ?(s|min)\b|just now", "T", text)


def listen(terminal, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        terminal.listen(0.1)


def test_watch_shows_the_same_and_asks_seldom(batch, operator, tmp_path):
    with Relay(operator) as between:
        direct = batch.terminal("watch", columns=120, lines=30)
        remote = batch.terminal("watch", columns=120, lines=30, SLUICE_URL=between.url)
        with direct, remote:
            for state, text in [("waiting", "2 waiting"), ("cancelled", "2 cancelled")]:
                if state == "cancelled":
                    operator.post("/api/v1/changes", {"change": "cancel", "filter": {"batch": 1}})
                for terminal in [direct, remote]:
                    terminal.wait(lambda: text in terminal.text(), text)
                remote.wait(lambda: [direct.listen()] and words(remote) == words(direct), "the same screen")
            # It listens.
            between.wait_for(EVENTS, 1)
            # Without events it would be every second.
            asks_seldom(between, "/api/v1/queues", 6, lambda seconds: listen(remote, seconds))
            for terminal in [direct, remote]:
                terminal.send("q")
                assert terminal.end() == 0


def test_watch_leaves_at_once(batch, operator):
    def leave(_):
        with Relay(operator, relay.be_silent) as between, \
                batch.terminal("watch", columns=100, SLUICE_URL=between.url) as terminal:
            terminal.wait_for_text("waiting")
            between.wait_for(EVENTS, 1)
            start = time.monotonic()
            terminal.send("q")
            assert terminal.end() == 0
            return time.monotonic() - start

    takes_less_than(2, leave)


@pytest.fixture
def following(tmp_path):
    """Starts `jobs --follow` over HTTP; ends it with the test."""
    begun = []

    def start(url, *words):
        process = subprocess.Popen([str(SLUICE), "jobs", "--follow", "-q", *words], cwd=tmp_path, text=True,
                                   env=environment(SLUICE_URL=url), stdout=subprocess.PIPE)
        begun.append(process)
        return process

    yield start
    for process in begun:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("words", [["--batch", "1"], []], ids=["batch", "all"])
def test_follow_asks_seldom_and_hears_of_each_job(ledger, operator, following, tmp_path, words):
    ledger.run("submit", *sources(tmp_path, 6), "--to", "out/{stem}.flac")
    with Relay(operator) as between:
        process = following(between.url, *words)
        between.wait_for(EVENTS, 1)
        query = "batch=1" if words else "queues=true"
        assert query in between.requests(EVENTS)[0]
        # Without events it would be about six times.
        asks_seldom(between, "/api/v1/jobs", 3)
        told = []

        def cancel_one(number):
            between.wait_for("/api/v1/jobs", len(between.requests("/api/v1/jobs")) + 1)
            start = time.monotonic()
            operator.post("/api/v1/changes", {"change": "cancel", "filter": {"id": [number + 1]}})
            told.append(process.stdout.readline())
            assert told[-1] == f"{number + 1}\n"
            return time.monotonic() - start

        # The next look without an event would come five seconds after the last one.
        takes_less_than(4, cancel_one)
        operator.post("/api/v1/changes", {"change": "cancel", "filter": {"batch": 1}})
        rest = {process.stdout.readline() for _ in range(len(told), 6)}
        assert rest == {f"{number + 1}\n" for number in range(len(told), 6)}
        if words:
            assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize("stream", [relay.refuse, relay.know_no_events, relay.be_silent])
def test_follow_needs_no_events(batch, operator, following, stream):
    with Relay(operator, stream) as between:
        process = following(between.url, "--batch", "1")
        between.wait_for(EVENTS, 1)
        between.wait_for("/api/v1/jobs", len(between.requests("/api/v1/jobs")) + 3)
        operator.post("/api/v1/changes", {"change": "cancel", "filter": {"batch": 1}})
        assert sorted(process.stdout.read().split()) == ["1", "2"]
        assert process.wait(PATIENCE) == 0


def test_a_watched_list_asks_seldom_and_its_clock_goes_on(batch, operator):
    with Relay(operator) as between, \
            batch.terminal("jobs", "--watch", columns=100, lines=20, SLUICE_URL=between.url) as terminal:
        terminal.wait_for_text("2 jobs")
        between.wait_for(EVENTS, 1)
        before, clocks = len(between.requests("/api/v1/jobs")), set()
        start = time.monotonic()
        # Eight times of day, which take longer on a busy machine.
        while len(clocks) < 8 and time.monotonic() - start < PATIENCE:
            terminal.listen(0.1)
            clocks |= set(re.findall(r"\d\d:\d\d:\d\d", terminal.text().splitlines()[0]))
        assert len(clocks) >= 8, clocks
        # It asks every five seconds. Without events it would be about twice a second.
        assert len(between.requests("/api/v1/jobs")) - before <= 3 + (time.monotonic() - start) / 5, between.heads

        def change_state(number):
            change, is_cancelled = [("cancel", True), ("retry", False)][number % 2]
            start = time.monotonic()
            operator.post("/api/v1/changes", {"change": change, "filter": {"batch": 1}})
            terminal.wait(lambda: ("cancelled" in terminal.text()) == is_cancelled, change)
            return time.monotonic() - start

        takes_less_than(4, change_state)
        terminal.send("\x03")
        assert terminal.end() in [130, -signal.SIGINT]
