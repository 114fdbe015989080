"""Tables, help pages and colours on a terminal."""

import pytest
from wcwidth import wcswidth

from terminal import COLOUR, SLUICE, Terminal, run

TABLES = [
    ["formats"],
    ["formats", "flac"],
    ["presets"],
    ["presets", "--for", "talk.wav"],
    ["probe", "talk.wav", "講演.wav"],
    ["probe", "--scan", "talk.wav"],
    ["probe", "--loudness", "talk.wav"],
    ["probe", "--points", "talk.wav"],
    ["probe", "--picture", "--points", "talk.wav"],
]


@pytest.mark.parametrize("words", TABLES, ids=" ".join)
@pytest.mark.parametrize("columns", [40, 80, 200])
def test_lines_fit_the_terminal(folder, words, columns):
    terminal = run(words, folder, columns)
    assert terminal.status == 0
    assert len(terminal.said()) > 2
    for line in terminal.said():
        assert wcswidth(line) <= columns, line


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_limits_of_a_spec_fit_the_terminal(folder, columns):
    terminal = run(["probe", "--spec", "acx", "talk.wav"], folder, columns)
    assert terminal.status == 3
    assert terminal.said()[-1].startswith("acx: FAIL, ")
    for line in terminal.said():
        assert wcswidth(line) <= columns, line


def test_nothing_is_cut_where_there_is_room(folder):
    for words in TABLES:
        assert "…" not in "".join(run(words, folder, columns=200).said())


@pytest.mark.parametrize("words", [["help", "convert"], ["convert", "--help"], ["--help"]], ids=" ".join)
def test_help_fits_eighty_columns(folder, words):
    for line in run(words, folder, PAGER="cat").said():
        assert wcswidth(line) <= 80, line


@pytest.mark.parametrize("words", [["help", "submit"], ["submit", "--help"], ["--help"]], ids=" ".join)
def test_long_help_is_shown_in_parts(folder, words):
    whole = run(words, folder, PAGER="").said()
    assert len(whole) > 24
    with Terminal([SLUICE, *words], folder) as terminal:
        terminal.wait_for_text("\n:")
        assert terminal.lines()[:23] == whole[:23]
        terminal.send(" ")
        terminal.wait_for_text(whole[24])
        terminal.send("q")
        assert terminal.end() == 0


def test_ctrl_c_is_a_key_of_the_pager(folder, tmp_path):
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\ntrap 'kill $!; echo interrupted; exit 0' INT\ncat >page\nsleep 60 &\necho ready\nwait\n")
    pager.chmod(0o755)
    with Terminal([SLUICE, "help", "submit"], folder, PAGER=str(pager)) as terminal:
        terminal.wait_for_text("ready")
        terminal.send("\x03")
        terminal.wait_for_text("interrupted")
        assert terminal.end() == 0


def test_the_pager_is_chosen_by_variables(folder, tmp_path):
    pager = tmp_path / "own pager"
    pager.write_text("#!/bin/sh\nprintf 'LESS=%s\\n' \"$LESS\"; exec sed 's/^/>/'\n")
    pager.chmod(0o755)
    said = run(["help", "submit"], folder, PAGER="false", SLUICE_PAGER=f"'{pager}'").said()
    assert said[0] == "LESS=FRX"
    whole = run(["help", "submit"], folder, PAGER="cat").said()
    assert said[1:] == [f">{line}" for line in whole]
    # A pager that cannot be started hides nothing.
    assert run(["help", "submit"], folder, PAGER="no-such-pager").said()[-len(whole) :] == whole
    assert run(["help", "submit"], folder, TERM="dumb").said() == whole


def test_short_help_and_pipes_need_no_pager(folder):
    assert run(["help", "completion"], folder, PAGER="false").said()[0].startswith("sluice completion: ")
    piped = run(["help", "submit"], folder, PAGER="cat").said()
    shell = Terminal(["sh", "-c", f"PAGER=false '{SLUICE}' help submit | cat"], folder)
    with shell:
        assert shell.end() == 0
        assert shell.said() == piped


def test_a_pager_may_end_before_it_has_read_all(folder):
    terminal = run(["help", "submit"], folder, PAGER="head -n 1")
    assert terminal.status == 0 and len(terminal.said()) == 1


@pytest.mark.parametrize("columns", [40, 80])
def test_errors_fit_the_terminal(folder, columns):
    for words in [["convert", "talk.wav", "talk.aiff", "--endian", "little"], ["convert", "no.wav", "x.wav"], ["covnert"]]:
        lines = run(words, folder, columns).said()
        assert lines[0].startswith("error: ")
        for line in lines:
            assert wcswidth(line) <= columns, line
        assert all(line.startswith(("error: ", "hint:  ", "       ")) for line in lines)


def test_names_in_errors_keep_their_spaces(folder):
    assert "two  spaces.wav" in run(["probe", "two  spaces.wav"], folder).said()[0]


def test_marks_are_ascii_outside_utf8(folder):
    terminal = run(["presets", "--for", "talk.wav"], folder, columns=40, LANG="C")
    assert terminal.raw.isascii() and b"~" in terminal.raw


@pytest.mark.parametrize("words", [["formats"], ["help", "convert"], ["probe", "talk.wav"], ["convert", "no.wav", "x.wav"]])
def test_terminals_have_colour_unless_told_otherwise(folder, words):
    def is_coloured(*more, **variables):
        return COLOUR.search(run([*words, *more], folder, PAGER="cat", **variables).raw.decode()) is not None

    assert is_coloured()
    assert not is_coloured(NO_COLOR="1")
    assert not is_coloured(TERM="dumb")
    assert not is_coloured("--color", "never")
    assert not is_coloured("--color=never", FORCE_COLOR="1")
    assert is_coloured("--color", "always", NO_COLOR="1")
    assert is_coloured(NO_COLOR="")


def test_result_is_coloured_and_json_is_not(folder):
    assert COLOUR.search(run(["convert", "talk.wav", "a.flac"], folder).raw.decode())
    # On a busy machine, the bar has time to appear. The sequence that clears its line stands before the result.
    bar, _, result = run(["convert", "talk.wav", "b.flac", "--json"], folder).raw.rpartition(b"\x1b[K")
    assert not COLOUR.search(bar.decode())
    assert result.startswith(b"{") and b"\x1b" not in result


def test_json_is_never_cut(folder):
    terminal = run(["probe", "--json", "talk.wav"], folder, columns=40)
    assert len(terminal.said()) == 1 and terminal.said()[0].endswith("}")
