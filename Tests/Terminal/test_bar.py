"""The progress bar of a conversion, on the screen."""

import pathlib
import re
import signal

import pytest

from terminal import SLUICE, Terminal, stop

PERCENT = re.compile(r"(\d+)%")
PART = "convert sound.wav out.flac --to 1:00"
WORDS = [SLUICE, *PART.split()]


def percent(terminal):
    found = PERCENT.search(terminal.text())
    return int(found.group(1)) if found else -1


def wait_for_percent(terminal, least):
    terminal.wait(lambda: percent(terminal) >= least, f"{least}% on the bar")


def begin(sound, terminal, seconds=30):
    """Feeds `seconds` of the minute and waits until the bar shows them, give or take the last seconds in transit."""
    sound.feed_to(seconds, terminal)
    wait_for_percent(terminal, (seconds - 3) * 100 // 60)


def finish(sound, terminal):
    sound.feed_to(60, terminal)
    sound.close()
    return terminal.end()


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_bar_is_one_line_that_grows_and_goes(folder, sound, columns):
    with Terminal(WORDS, folder, columns) as terminal:
        seen = []
        for seconds in [12, 24, 36, 48]:
            begin(sound, terminal, seconds)
            assert len(terminal.lines()) == 1, terminal.text()
            line = terminal.lines()[0]
            assert line.startswith("out.flac")
            # Leaves space for the ^C or ^Z that the terminal echoes after it.
            assert len(line) <= columns - 3
            seen.append(percent(terminal))
        assert seen == sorted(set(seen)) and seen[-1] < 100
        assert "█" in line or columns == 40
        assert finish(sound, terminal) == 0
        # A result that is too long wraps; nothing else stays on the screen.
        text = " ".join("".join(terminal.screen.display).split())
        assert re.fullmatch(r"out\.flac 1:00 flac s16 8 kHz mono [\d.]+ kB [\d.]+ s \(\d+x\) 480,000 frames, complete", text)


def test_bar_at_eighty_columns_says_all(folder, sound):
    with Terminal(WORDS, folder) as terminal:
        begin(sound, terminal)
        line = terminal.lines()[0]
        assert re.fullmatch(r"out\.flac  █+[▏▎▍▌▋▊▉]? +\d+%   0:\d\d of 1:00   \S+x   0:\d\d left", line), line


def test_bar_follows_the_size_of_the_window(folder, sound):
    with Terminal(WORDS, folder) as terminal:
        begin(sound, terminal, 15)
        for columns, seconds in [(40, 24), (120, 33), (50, 42), (80, 51)]:
            terminal.resize(columns)
            begin(sound, terminal, seconds)
            assert len(terminal.lines()) == 1, terminal.text()
            assert len(terminal.lines()[0]) < columns
        assert finish(sound, terminal) == 0
        assert "█" not in terminal.text()
        assert terminal.lines()[0].startswith("out.flac  1:00  flac")


@pytest.mark.parametrize("variables", [{"LANG": "C"}, {"LANG": None}, {"LC_ALL": "POSIX"}])
def test_bar_is_ascii_outside_utf8(folder, sound, variables):
    with Terminal(WORDS, folder, **variables) as terminal:
        begin(sound, terminal)
        assert re.search(r"#{5,}\.{5,}", terminal.text())
        assert finish(sound, terminal) == 0
        assert terminal.raw.isascii()


def test_bar_of_unknown_length_has_no_share(folder, sound):
    sound.hide_length()
    with Terminal([SLUICE, "convert", "sound.wav", "out.flac"], folder) as terminal:
        sound.feed_to(30, terminal)
        terminal.wait(lambda: re.fullmatch(r"out\.flac  0:(2[7-9]|30)   \S+x", terminal.text()), "half a minute")
        assert finish(sound, terminal) == 0
        assert terminal.text().startswith("out.flac  1:00  flac")


def test_long_and_wide_names_leave_room_for_the_bar(folder, sound):
    name = "講演" * 20 + ".flac"
    with Terminal([SLUICE, "convert", "sound.wav", name, "--to", "1:00"], folder) as terminal:
        begin(sound, terminal)
        assert len(terminal.lines()) == 1
        assert "…" in terminal.text() and "█" in terminal.text()
        assert finish(sound, terminal) == 0
        assert "█" not in terminal.text()


def test_no_bar_where_standard_error_is_no_terminal(folder, sound):
    with Terminal(["sh", "-c", f"{SLUICE} {PART} 2>talk"], folder) as terminal:
        sound.feed_to(30, terminal)
        # No event shows that no bar appears; it would appear after 0.2 s.
        terminal.listen(0.5)
        assert finish(sound, terminal) == 0
        assert terminal.text().startswith("out.flac  1:00  flac")
        assert (folder / "talk").read_bytes() == b""


def test_bar_stays_where_standard_output_is_no_terminal(folder, sound):
    with Terminal(["sh", "-c", f"{SLUICE} {PART} >result"], folder) as terminal:
        begin(sound, terminal)
        assert finish(sound, terminal) == 0
        assert terminal.text() == ""
        assert (folder / "result").read_text().startswith("out.flac  1:00  flac")


def test_no_bar_without_progress(folder, sound):
    with Terminal([*WORDS, "--progress", "none"], folder) as terminal:
        sound.feed_to(30, terminal)
        # No event shows that no bar appears; it would appear after 0.2 s.
        terminal.listen(0.5)
        assert terminal.raw == b""
        assert finish(sound, terminal) == 0


def test_part_counts_from_its_beginning(folder, sound):
    with Terminal([SLUICE, "convert", "sound.wav", "out.flac", "--from", "30", "--to", "50"], folder) as terminal:
        sound.feed_to(42, terminal)
        wait_for_percent(terminal, 45)
        assert re.search(r"0:(09|1[0-2]) of 0:20 ", terminal.text()), terminal.text()
        # The conversion does not wait for sound after the part.
        sound.feed_to(52, terminal)
        assert terminal.end() == 0


def test_ctrl_c_clears_the_line(folder, sound):
    with Terminal(WORDS, folder) as terminal:
        begin(sound, terminal)
        terminal.send("\x03")
        assert terminal.end() == -signal.SIGINT
        assert terminal.text() == "stopped by Ctrl-C; nothing was written"
        assert sorted(path.name for path in folder.iterdir() if "out" in path.name) == []


def test_ctrl_c_clears_the_line_also_where_nothing_stops(folder, sound):
    with Terminal(WORDS, folder) as terminal:
        begin(sound, terminal)
        rooms = pathlib.Path(f"/proc/{terminal.child.pid}/task").glob("*/children")
        for room in " ".join(path.read_text() for path in rooms).split():
            stop(int(room))
        terminal.send("\x03")
        assert terminal.end() == -signal.SIGINT
        assert terminal.text() == "stopped by Ctrl-C while publishing; out.flac is either unchanged or complete"
        assert sorted(path.name for path in folder.iterdir() if "out" in path.name) == []


def test_ctrl_c_is_130_to_a_shell(folder, sound):
    line = f"trap : INT; {SLUICE} {PART}; echo code $?"
    with Terminal(["bash", "-c", line], folder) as terminal:
        begin(sound, terminal)
        terminal.send("\x03")
        assert terminal.end() == 0
        assert terminal.lines() == ["stopped by Ctrl-C; nothing was written", "code 130"]


def test_ctrl_c_ends_the_loop_around_it(folder, sound):
    with Terminal(["bash", "-c", f"for i in 1 2 3; do {SLUICE} {PART}; done"], folder) as terminal:
        begin(sound, terminal)
        terminal.send("\x03")
        assert terminal.end() == -signal.SIGINT
        assert terminal.text() == "stopped by Ctrl-C; nothing was written"


def test_suspended_conversion_goes_on(folder, sound):
    with Terminal(["bash", "--norc", "--noprofile", "-i"], folder, PS1="> ") as terminal:
        terminal.wait(lambda: terminal.cursor_line() == ">", "a prompt")
        terminal.send(f"sluice {PART}\r")
        begin(sound, terminal)
        terminal.send("\x1a")
        terminal.wait_for_text("Stopped")
        terminal.send("clear; fg\r")
        begin(sound, terminal, 45)
        sound.feed_to(60, terminal)
        sound.close()
        terminal.wait_for_text("480,000 frames")
        terminal.send("echo code $?\r")
        terminal.wait_for_text("code 0")
        assert "█" not in terminal.text()
