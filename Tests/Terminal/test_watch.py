"""The full-screen watch: its contents, its keys, and that it restores the terminal."""

import os
import re
import signal
import termios

import pytest
from wcwidth import wcswidth

from ledgers import Server
from terminal import PATIENCE, SLUICE, Terminal

SIZES = [(40, 24), (80, 24), (200, 60)]
LEAVING = b"\x1b[?7h\x1b[?25h\x1b[?1049l"


def modes(terminal):
    """The terminal's modes, such as echo and line editing; both ends of a pseudo-terminal share them."""
    return termios.tcgetattr(terminal.child.child_fd)


def answered(terminal, question):
    """Waits for a question and confirms it."""
    terminal.wait_for_text(question)
    terminal.send("y")


def silence(path, seconds):
    """A sparse file of silence, which takes no disk space."""
    rate = 48000
    size = rate * seconds * 4
    header = b"RIFF" + (36 + size).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little")
    header += (1).to_bytes(2, "little") + (2).to_bytes(2, "little") + rate.to_bytes(4, "little")
    header += (rate * 4).to_bytes(4, "little") + (4).to_bytes(2, "little") + (16).to_bytes(2, "little")
    path.write_bytes(header + b"data" + size.to_bytes(4, "little"))
    os.truncate(path, 44 + size)


@pytest.fixture
def works(ledger, tmp_path):
    """A ledger with a worker: two long jobs run, three wait, and twelve have failed."""
    # With this lease, heartbeats come every four seconds, and a busy machine may delay some.
    ledger.query("update sluice.setting set lease = '12 s'")
    for number in range(5):
        silence(tmp_path / f"hours-{number}.wav", 3 * 3600)
    worker = ledger.start("worker", "--root", "local=/", "--slots", "2", "--name", "pump-1")
    try:
        terminal = Terminal(["tail", "-f", "/dev/null"], tmp_path)
        with terminal:
            terminal.wait(lambda: len(ledger.ids("--state", "failed")) == 12, "twelve failures")
            words = [f"hours-{number}.wav" for number in range(5)]
            ledger.run("submit", *words, "--to", "{stem}.m4a", "--preset", "apple-m4a", "--queue", "nightly")
            terminal.wait(lambda: len(ledger.ids("--state", "running")) >= 2, "two that run")
        yield ledger
    finally:
        # Cancels the running jobs, so that the worker has nothing to finish.
        ledger.run("cancel", "--all", "--yes")
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=PATIENCE) == 0


@pytest.mark.parametrize("columns,lines", SIZES)
def test_it_shows_queues_jobs_workers_and_failures(works, columns, lines):
    with works.terminal("watch", columns=columns, lines=lines) as terminal:
        terminal.wait(lambda: re.search(r"hours-\d.* +\d+%", terminal.text()) or columns == 40, "a running job")
        terminal.wait(lambda: re.search(r" [\d,.]+x +\d+:\d\d", terminal.text()), "a speed and a time")
        # The screen is drawn from its top to its bottom.
        terminal.wait(lambda: re.search(r"empty_in", terminal.text()), "the last failures")
        text = terminal.text()
        assert re.search(r"^sluice    [\d,]+ waiting", text)
        assert re.search(r"^queues +\w+", text, re.M) and re.search(r"^workers   pump-1 ██", text, re.M)
        assert "last failures" in text
        for line in terminal.screen.display:
            assert wcswidth(line.rstrip()) <= columns
        if columns >= 80:
            assert "nightly" in text and "pump-1/0" in text and "pump-1/1" in text and "█" in text
            assert "12 jobs" in text
        terminal.send("q")
        assert terminal.end() == 0


def test_cancelled_job_is_stopped(works):
    with works.terminal("watch") as terminal:
        line = terminal.wait(lambda: re.search(r"^▸ +(\d+) ", terminal.text(), re.M), "a running job")
        job = line.group(1)
        terminal.send("c")
        answered(terminal, f"cancel 1 job ({job} ")
        terminal.wait_for_text("1 running job being stopped")
        terminal.wait(lambda: job in works.ids("--state", "cancelled"), "the end of the job")


def test_cancel_and_retry_change_the_ledger(ledger):
    with ledger.terminal("watch") as terminal:
        terminal.wait_for_text("no running jobs")
        terminal.send("2")
        terminal.wait_for_text("number 11.wav")
        terminal.send("\x1b[B\x1b[B")
        terminal.send("c")
        terminal.wait_for_text("cancel 1 job (10 ")
        terminal.send("n")
        terminal.wait_for_text("nothing was done")
        assert ledger.ids("--state", "cancelled") == []
        terminal.send("c")
        answered(terminal, "cancel 1 job (10 ")
        terminal.wait_for_text("1 job cancelled")
        assert ledger.ids("--state", "cancelled") == ["10"]
        terminal.send("4")
        terminal.wait(lambda: re.search(r"^▸ +10 +cancelled", terminal.text(), re.M), "the cancelled job")
        terminal.send("r")
        answered(terminal, "put 1 job back into the queue")
        terminal.wait_for_text("1 job back in the queue")
        assert ledger.ids("--state", "cancelled") == []
        terminal.send("2")
        terminal.wait_for_text("number 11.wav")
        terminal.send("C")
        answered(terminal, "cancel 12 jobs (all waiting)?")
        terminal.wait_for_text("12 jobs cancelled")
        assert len(ledger.ids("--state", "cancelled")) == 12


def test_queue_is_paused_and_resumed(ledger):
    paused = "select paused from sluice.queue where name = 'default'"
    with ledger.terminal("watch") as terminal:
        terminal.wait_for_text("no running jobs")
        terminal.send("5p")
        answered(terminal, "pause queue default? 12 jobs in it would wait")
        terminal.wait_for_text("default paused")
        assert ledger.query(paused) == "t"
        terminal.send("p")
        answered(terminal, "resume queue default? it has 12 waiting jobs")
        terminal.wait(lambda: "default paused" not in terminal.text(), "an open queue")
        assert ledger.query(paused) == "f"


def test_filter_story_and_help(ledger):
    with ledger.terminal("watch") as terminal:
        terminal.wait_for_text("no running jobs")
        terminal.send("2/local:")
        terminal.wait_for_text("filter: local:_")
        terminal.send("\x15queue=other\r")
        terminal.wait_for_text("nothing matches queue=other")
        # An Escape counts as a key once no other byte follows it.
        terminal.send("\x1b")
        terminal.wait_for_text("number 11.wav")
        terminal.send("\r")
        terminal.wait_for_text('job 12   waiting   batch 1 "recordings"')
        terminal.send("q?")
        terminal.wait_for_text("cancel all listed jobs")
        terminal.send("qq")
        assert terminal.end() == 0


def test_help_scrolls_on_a_small_screen(ledger):
    with ledger.terminal("watch", columns=80, lines=12) as terminal:
        terminal.wait_for_text("no running jobs")
        terminal.send("?")
        terminal.wait_for_text("esc back   up/down move")
        assert "reported speed" not in terminal.text()
        terminal.send("\x1b[6~ ")
        terminal.wait_for_text("reported speed")
        terminal.send("g")
        terminal.wait_for_text("sluice watch")
        terminal.send("q")
        terminal.wait_for_text("no running jobs")
        terminal.send("q")
        assert terminal.end() == 0


def test_pasted_text_answers_nothing(ledger):
    with ledger.terminal("watch") as terminal:
        terminal.wait_for_text("no running jobs")
        assert b"\x1b[?2004h" in terminal.raw
        terminal.send("2")
        terminal.wait_for_text("number 11.wav")
        terminal.send("C")
        terminal.wait_for_text("cancel 12 jobs")
        terminal.send("\x1b[200~y\x1b[201~")
        terminal.wait_for_text("nothing was done")
    assert ledger.ids("--state", "cancelled") == []


@pytest.mark.parametrize("columns,lines", SIZES)
def test_only_what_changed_is_drawn(ledger, columns, lines):
    with ledger.terminal("watch", columns=columns, lines=lines) as terminal:
        terminal.wait_for_text("no running jobs")
        terminal.send("2")
        terminal.wait(lambda: re.search("^▸ 12 ", terminal.text(), re.M), "the list")
        terminal.send("4")
        terminal.wait_for_text("no ended jobs yet")
        size = len(terminal.raw)
        clock = terminal.screen.display[0]
        # Three ticks of its clock or more, during which nothing else changes.
        for _ in range(3):
            clock = terminal.wait(
                lambda: terminal.screen.display[0] if terminal.screen.display[0] != clock else None, "a tick"
            )
        drawn = terminal.raw[size:]
        assert b"\x1b[2J" not in terminal.raw and b"\x1b[J" not in terminal.raw
        frames = [frame for frame in drawn.split(b"\x1b[?2026h") if frame]
        # One for each tick, of which a busy machine may show several at once, and the rest of one from before.
        assert len(drawn) < (1 + len(frames)) * (200 + 2 * columns), drawn
        assert all(frame.endswith(b"\x1b[?2026l") for frame in frames), drawn


def test_it_follows_the_size_of_the_terminal(ledger):
    with ledger.terminal("watch", columns=200, lines=60) as terminal:
        terminal.wait_for_text("no running jobs")
        terminal.send("2")
        terminal.wait_for_text("number 11.wav")
        for columns, lines in [(50, 10), (20, 4), (120, 40)]:
            terminal.resize(columns, lines)
            terminal.wait(lambda: "[2 waiting 12]" in terminal.text(), "the list")
            terminal.wait(lambda: len(terminal.lines()) == lines, "as many lines")
            for line in terminal.screen.display:
                assert wcswidth(line.rstrip()) <= columns
        terminal.wait_for_text("number 11.wav")


@pytest.mark.parametrize(
    "number,ending",
    [(signal.SIGINT, -signal.SIGINT), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGTERM)],
)
def test_signals_give_the_terminal_back(ledger, number, ending):
    with ledger.terminal("watch") as terminal:
        before = modes(terminal)
        terminal.wait_for_text("no running jobs")
        assert modes(terminal) != before
        if number == signal.SIGINT:
            terminal.send("\x03")
        else:
            terminal.child.kill(number)
        # The output arrives before the modes are restored.
        terminal.wait(lambda: LEAVING in terminal.raw and modes(terminal) == before, "the terminal as it was")
        assert terminal.end() == ending
        assert terminal.raw.endswith(LEAVING)


def test_crash_gives_the_terminal_back(ledger):
    with ledger.terminal("watch") as terminal:
        before = modes(terminal)
        terminal.wait_for_text("no running jobs")
        # Like a trap in our own code.
        terminal.child.kill(signal.SIGTRAP)
        terminal.wait(lambda: LEAVING in terminal.raw, "the end of the screen")
        assert terminal.end() == -signal.SIGTRAP
    with ledger.terminal("watch") as terminal:
        terminal.wait_for_text("no running jobs")
        terminal.child.kill(signal.SIGABRT)
        terminal.wait(lambda: LEAVING in terminal.raw and modes(terminal) == before, "the terminal")


def test_quitting_gives_the_terminal_back(ledger):
    with ledger.terminal("watch") as terminal:
        before = modes(terminal)
        terminal.wait_for_text("no running jobs")
        terminal.send("q")
        terminal.wait(lambda: LEAVING in terminal.raw and modes(terminal) == before, "the terminal")
        assert terminal.end() == 0
        assert terminal.raw.endswith(LEAVING)


def test_stopping_lends_the_terminal_to_the_shell(ledger):
    shell = Terminal(["bash", "--norc", "--noprofile", "-i"], ledger.folder, PS1="READY> ", **ledger.variables)
    with shell:
        shell.wait_for_text("READY>")
        shell.send(f"{SLUICE} watch\r")
        shell.wait_for_text("no running jobs")
        ours = modes(shell)
        for _ in range(2):
            seen = len(shell.raw)
            shell.send("\x1a")
            shell.wait(lambda: LEAVING in shell.raw[seen:] and b"Stopped" in shell.raw[seen:], "the shell")
            assert modes(shell) != ours
            seen = len(shell.raw)
            shell.send("fg\r")
            shell.wait(lambda: b"\x1b[?1049h" in shell.raw[seen:] and b"no running jobs" in shell.raw[seen:], "the watch")
            assert modes(shell)[3] == ours[3]
        shell.send("2")
        shell.wait_for_text("number 11.wav")
        seen = len(shell.raw)
        shell.send("q")
        shell.wait(lambda: LEAVING in shell.raw[seen:] and shell.raw.rstrip().endswith(b"READY>"), "a prompt")
        shell.send("echo still\\ here\r")
        shell.wait_for_text("still here")


def test_ledger_that_goes_away_is_waited_for(tmp_path):
    server = Server()
    try:
        ledger = server.ledger(tmp_path)
        with ledger.terminal("watch") as terminal:
            terminal.wait_for_text("no running jobs")
            server.stop()
            terminal.wait_for_text("the ledger has not answered since")
            # The known facts stay on the screen, and the keys still work.
            assert "default 12 waiting" in terminal.text()
            terminal.send("?")
            terminal.wait_for_text("Ctrl-L")
            terminal.send("?5p")
            answered(terminal, "pause queue default?")
            server.start()
            terminal.wait(lambda: "does not answer" not in terminal.text(), "an answer")
            # The watch retries until its time limit; the change succeeds late or not at all. Until then it counts
            # as in progress.
            terminal.wait(
                lambda: "queue default is paused" in terminal.text() or "(ledger_" in terminal.text(), "what became of it"
            )
            terminal.send("2")
            terminal.wait_for_text("number 11.wav")
            # While the change is in progress, the first q only asks for a second one.
            terminal.send("qq")
            assert terminal.end() == 0
    finally:
        server.stop()


def test_it_takes_a_terminal(ledger):
    with ledger.terminal("watch", TERM="dumb") as terminal:
        assert terminal.end() == 2
        assert "sluice jobs --watch" in terminal.text()


def test_without_colour_the_cursor_is_seen_all_the_same(ledger):
    with ledger.terminal("watch", NO_COLOR="1") as terminal:
        terminal.wait_for_text("no running jobs")
        terminal.send("2")
        terminal.wait(lambda: re.search("^▸ 12 ", terminal.text(), re.M), "the mark")
        assert not re.search(rb"\x1b\[[1-9]\d*m", terminal.raw)


def test_outside_utf8_all_is_ascii(ledger):
    with ledger.terminal("watch", LANG="C") as terminal:
        terminal.wait_for_text("no running jobs")
        terminal.send("2")
        terminal.wait(lambda: re.search("^> 12 ", terminal.text(), re.M), "the mark")
        assert terminal.raw.isascii()


def test_it_shows_and_changes_the_same_over_http(works, tmp_path):
    """A coordinator in between makes no difference to the screen."""
    place = tmp_path / "http"
    coordinator = works.start("coordinator", "--listen", str(place), "--open-role", "operator")
    remote = {"SLUICE_URL": f"unix:{place}", "SLUICE_DATABASE_URL": None}
    try:
        with works.terminal("watch") as direct, Terminal([SLUICE, "watch"], tmp_path, **remote) as over:
            # The command waits for the coordinator's socket, for as long as it waits for a database.
            for terminal in [direct, over]:
                terminal.wait(lambda: re.search(r" [\d,.]+x +\d+:\d\d", terminal.text()), "a speed and a time")

            # The units of a speed and of a time left change with each second.
            def are_alike():
                direct.listen(0)
                words, others = [re.sub(r"[\d:,.]+|[█▏▎▍▌▋▊▉░]", "", one.text()).split() for one in [direct, over]]
                return words == others

            over.wait(are_alike, f"the same words as in:\n{direct.text()}")
            over.send("3")
            over.wait_for_text("empty_in")
            over.send("q")
            direct.send("q")
            assert (over.end(), direct.end()) == (0, 0)
    finally:
        coordinator.send_signal(signal.SIGTERM)
        assert coordinator.wait(timeout=PATIENCE) == 0
