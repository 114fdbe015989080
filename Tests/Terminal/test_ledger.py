"""The screen output of commands on a ledger: the watch, the wait, the question, and tables."""

import re
import signal

import pytest
from wcwidth import wcswidth

@pytest.mark.parametrize("columns", [40, 80, 200])
def test_tables_fit_the_terminal(ledger, columns):
    ledger.run("cancel", "3", "--yes")
    for words in [["jobs"], ["batches"], ["queues"], ["jobs", "--state", "cancelled"]]:
        terminal = ledger.shown(*words, columns=columns)
        assert terminal.status == 0 and len(terminal.said()) >= 2
        for line in terminal.said():
            assert wcswidth(line) <= columns or line.startswith(("more: ", '"sluice')), line
        if columns == 200:
            assert "…" not in terminal.text()


@pytest.mark.parametrize("columns,lines", [(40, 12), (80, 24), (200, 60)])
def test_watch_draws_what_changes_and_restores_the_screen(ledger, columns, lines):
    with ledger.terminal("jobs", "--watch", columns=columns, lines=lines) as terminal:
        terminal.wait_for_text("12 jobs")
        terminal.wait_for_text("waiting")
        assert "cancelled" not in terminal.text()
        assert len(terminal.lines()) <= lines
        ledger.run("cancel", "12", "--yes")
        terminal.wait_for_text("cancelled")
        terminal.send("\x03")
        assert terminal.end() == -signal.SIGINT
        # The alternate screen is closed, and the cursor is visible again.
        assert terminal.raw.rstrip().endswith(b"\x1b[?25h\x1b[?1049l") or b"\x1b[?1049l" in terminal.raw[-40:]


def test_watch_follows_the_size_of_the_terminal(ledger):
    with ledger.terminal("jobs", "--watch", columns=200) as terminal:
        terminal.wait_for_text("number 11.wav")
        terminal.resize(50, 10)
        terminal.wait(lambda: "…" in terminal.text() and len(terminal.lines()) <= 10, "a narrower table")
        terminal.send("\x03")
        assert terminal.end() == -signal.SIGINT


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_wait_says_why_nothing_runs_above_one_line_that_grows_and_goes(ledger, columns):
    with ledger.terminal("wait", "--batch", "1", columns=columns) as terminal:
        terminal.wait(lambda: re.search(r"^\S*\s+0%", (terminal.lines() or [""])[-1]), "a bar")
        notes = terminal.lines()[:-1]
        assert " ".join(" ".join(notes).split()).startswith("note: nothing runs: no workers are running;")
        ledger.run("cancel", "1", "2", "3", "--yes")
        terminal.wait_for_text("25%")
        assert terminal.lines()[:-1] == notes
        ledger.run("cancel", "--all", "--yes")
        assert terminal.end() == 3
        assert terminal.lines() == notes + ['batch 1 "recordings"  12 cancelled']


def test_quiet_wait_shows_no_bar_and_says_why_nothing_runs(ledger):
    with ledger.terminal("submit", "in:a.wav", "--to", "out:a.mp3", "--wait", "--quiet") as terminal:
        terminal.wait_for_text("nothing runs")
        ledger.run("cancel", "--all", "--yes")
        assert terminal.end() == 3
        assert not re.search(rb"\d%", terminal.raw)


def test_question_begins_with_the_context(ledger, tmp_path):
    place = {"XDG_CONFIG_HOME": str(tmp_path), "SLUICE_DATABASE_URL": None}
    ledger.run("config", "set-context", "prod", "--database", ledger.variables["SLUICE_DATABASE_URL"], **place)
    ledger.run("config", "use", "prod", **place)
    with ledger.terminal("cancel", "--batch", "1", **place) as terminal:
        terminal.wait_for_text("context prod: cancel 12 jobs? [y/N]")
        # A change of the current context before the answer makes no difference.
        ledger.run("config", "use", "--none", **place)
        terminal.send("y\r")
        assert terminal.end() == 0
    assert "12 jobs cancelled" in terminal.text()


@pytest.mark.parametrize("answer,left", [("y\r", 0), ("n\r", 12), ("\r", 12), ("yes\r", 0), ("\x04", 12)])
def test_question_is_asked_and_answered(ledger, answer, left):
    with ledger.terminal("cancel", "--batch", "1") as terminal:
        terminal.wait_for_text("cancel 12 jobs? [y/N]")
        terminal.send(answer)
        assert terminal.end() == (0 if left == 0 else 1)
    assert len(ledger.run("jobs", "-q", "--state", "waiting").split()) == left


def test_interrupted_question_changes_nothing(ledger):
    with ledger.terminal("cancel", "--all") as terminal:
        terminal.wait_for_text("[y/N]")
        terminal.send("\x03")
        assert terminal.end() == -signal.SIGINT
    assert len(ledger.run("jobs", "-q", "--state", "waiting").split()) == 12


@pytest.mark.parametrize("answer,code", [("n\r", 1), ("y\r", 3)])
def test_check_asks_before_it_repairs(ledger, folder, answer, code):
    worker = ledger.start("worker", "--root", "local=/", "--slots", "1")
    try:
        batch = ledger.run("submit", "talk.wav", "--to", "out/{stem}.flac", "-q").strip()
        ledger.run("wait", "--batch", batch)
        (folder / "out/talk.flac").unlink()
        with ledger.terminal("check", "--batch", batch, "--repair") as terminal:
            terminal.wait_for_text("[y/N]")
            assert "missing" in terminal.text() and "submit 1 job" in terminal.text()
            terminal.send(answer)
            assert terminal.end() == code
        if answer == "y\r":
            ledger.run("wait", "--batch", str(int(batch) + 1))
            assert (folder / "out/talk.flac").exists()
            ledger.run("check", "--batch", batch)
    finally:
        worker.terminate()
        worker.wait()
