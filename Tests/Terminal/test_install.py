"""The files of `make install`, used as after a fresh installation."""

import subprocess
import wave

import pytest

from terminal import HOUSE, SLUICE, Terminal, environment


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("prefix")
    subprocess.run([HOUSE / "scripts/install", SLUICE, prefix], check=True, env=environment())
    return prefix


def test_command_runs(prefix):
    shown = subprocess.run([prefix / "bin/sluice", "--version"], capture_output=True, text=True, check=True)
    assert shown.stdout.startswith("sluice ")


def test_command_finds_the_program_of_its_rooms(prefix, tmp_path):
    with wave.open(str(tmp_path / "in.wav"), "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(bytes(16_000))
    words = [prefix / "bin/sluice", "convert", tmp_path / "in.wav", tmp_path / "out.flac"]
    subprocess.run(words, check=True, env=environment())
    assert (tmp_path / "out.flac").exists()


@pytest.mark.parametrize("place", ["bin/sluice", "libexec/sluice/sluice-room"])
def test_symbols_are_kept_apart(prefix, place):
    installed = prefix / place
    built = SLUICE.with_name(installed.name)
    assert installed.stat().st_size < built.stat().st_size
    sections = subprocess.run(["readelf", "--sections", "--wide", installed], capture_output=True, text=True, check=True)
    assert ".gnu_debuglink" in sections.stdout
    assert ".symtab" not in sections.stdout
    kept = built.with_name(f"{built.name}.debug")
    sections = subprocess.run(["readelf", "--sections", "--wide", kept], capture_output=True, text=True, check=True)
    assert ".symtab" in sections.stdout


def test_every_command_has_a_manual_page(prefix):
    pages = {page.name for page in (prefix / "share/man/man1").iterdir()}
    listed = subprocess.run([SLUICE, "complete-words", ""], capture_output=True, text=True, check=True).stdout
    commands = [line.split("\t")[0] for line in listed.splitlines()[1:]]
    assert "convert" in commands
    assert pages == {"sluice.1", *(f"sluice-{command}.1" for command in commands)}
    for page in pages:
        assert (prefix / "share/man/man1" / page).read_text().startswith(".TH ")


def test_zsh_completes_at_the_first_tab(prefix, folder):
    with Terminal(["zsh", "-f", "-i"], folder, columns=100, HOME=str(folder)) as terminal:
        functions = prefix / "share/zsh/site-functions"
        for line in [
            "PS1='READY> '",
            f"fpath=({functions} $fpath)",
            "autoload -Uz compinit && compinit -u -D",
            "unsetopt prompt_sp beep",
        ]:
            terminal.send(f"{line}\r")
        terminal.send("echo set' up'\r")
        terminal.wait_for_text("set up")
        terminal.send("sluice conv\t")
        terminal.wait(lambda: terminal.cursor_line().split("READY> ")[-1] == "sluice convert", "the whole word")
