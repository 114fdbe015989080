"""Completion in real shells: the command line after the tab key."""

import pytest

from terminal import Terminal

# A known prompt, the completion script, and no configuration of the user's.
SHELLS = {
    "bash": (
        ["bash", "--norc", "--noprofile", "-i"],
        ["PS1='READY> '", "bind 'set bell-style none'", "source <(sluice completion bash)"],
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        [
            "PS1='READY> '",
            "autoload -Uz compinit && compinit -u -D",
            "unsetopt prompt_sp beep",
            "source <(sluice completion zsh)",
        ],
    ),
    "fish": (
        ["fish", "--no-config", "--interactive"],
        [
            "function fish_prompt; echo 'READY> '; end",
            "set -g fish_autosuggestion_enabled 0",
            "sluice completion fish | source",
        ],
    ),
}


@pytest.fixture(params=list(SHELLS))
def shell(request, folder):
    words, setup = SHELLS[request.param]
    with Terminal(words, folder, columns=100, HOME=str(folder), XDG_DATA_HOME=str(folder / ".data")) as terminal:
        for number, line in enumerate(setup):
            terminal.send(f"{line}\r")
        # The shell joins the two words, so that the echo of the line does not match the awaited text.
        terminal.send("echo set' up'\r")
        terminal.wait_for_text("set up")
        terminal.wait(lambda: terminal.cursor_line().endswith("READY>"), "a prompt")
        terminal.name = request.param
        yield terminal


def complete(shell, typed, expected):
    """Types a prefix and a tab, waits for the completed line, and clears it."""
    shell.send(typed + "\t")
    shell.wait(lambda: shell.cursor_line().split("READY> ")[-1] == expected, f'line "{expected}"')
    shell.send("\x15")
    shell.wait(lambda: shell.cursor_line().endswith("READY>"), "an empty line")


def offers(shell, typed, expected):
    """Types a prefix and two tabs, and waits until all of `expected` are listed. The list stays, so this comes last."""
    shell.send(typed + "\t\t")
    shell.wait(lambda: all(word in shell.text() for word in expected), f"{expected}")


def test_commands(shell):
    complete(shell, "sluice conv", "sluice convert")
    complete(shell, "sluice help prob", "sluice help probe")
    offers(shell, "sluice pr", ["probe", "presets"])


def test_options(shell):
    complete(shell, "sluice convert --pres", "sluice convert --preset")
    complete(shell, "sluice convert --on-d", "sluice convert --on-damage")
    offers(shell, "sluice convert --pr", ["--preset", "--progress"])


def test_values(shell):
    complete(shell, "sluice convert --preset mp3-1", "sluice convert --preset mp3-128")
    complete(shell, "sluice convert -p archive", "sluice convert -p archive-flac")
    complete(shell, "sluice convert --on-damage con", "sluice convert --on-damage conceal")
    offers(shell, "sluice convert --preset mp3-", ["mp3-v0", "mp3-128"])


def test_values_behind_a_sign(shell):
    complete(shell, "sluice convert --preset=mp3-1", "sluice convert --preset=mp3-128")
    complete(shell, "sluice convert --on-conflict=rep", "sluice convert --on-conflict=replace")


def test_files(shell):
    complete(shell, "sluice probe tal", "sluice probe talk.wav")
    complete(shell, "sluice convert --rate 48k tal", "sluice convert --rate 48k talk.wav")
    complete(shell, "sluice presets --for tal", "sluice presets --for talk.wav")
    complete(shell, "sluice presets --for=tal", "sluice presets --for=talk.wav")


def test_files_with_spaces(shell):
    complete(shell, "sluice probe my", "sluice probe my\\ talk.wav")
    complete(shell, "sluice probe my\\ t", "sluice probe my\\ talk.wav")
    complete(shell, 'sluice probe "my t', 'sluice probe "my talk.wav"')


def test_files_at_home(shell):
    complete(shell, "sluice probe ~/tal", "sluice probe ~/talk.wav")


def test_folders_behind_a_name(shell, folder):
    (folder / "my folder").mkdir()
    complete(shell, "sluice worker --root in=my\\ f", "sluice worker --root in=my\\ folder/")
    complete(shell, "sluice worker --root=in=my\\ f", "sluice worker --root=in=my\\ folder/")


# fish completes a path behind any sign.
@pytest.mark.parametrize("shell", ["bash", "zsh"], indirect=True)
def test_files_with_a_sign_in_their_names(shell, folder):
    (folder / "c=d.wav").write_bytes(b"")
    complete(shell, "sluice probe c=", "sluice probe c=d.wav")
