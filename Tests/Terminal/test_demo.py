"""The demonstration on a terminal: it can be stopped at any time, and leaves nothing."""

import os
import pathlib
import re

import pytest

import terminal
from terminal import SLUICE, Terminal

DEMO = SLUICE.parent / "demo"


def processes_of(folder):
    """Those whose words name the folder, or whose variables do."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            said = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            # One that has ended and that nobody has waited for has neither.
            if process.name.isdigit() and folder.encode() in said:
                found.append(said)
        except OSError:
            # It ended meanwhile, or is none.
            continue
    return found


@pytest.mark.parametrize("moment", ["sluice up", "the private cluster runs", 'batch 1 "demo"', " done "])
def test_ctrl_c_leaves_nothing(moment, tmp_path, monkeypatch):
    # All sound is computed first, by a program that nobody has optimised.
    monkeypatch.setattr(terminal, "PATIENCE", 240)
    with Terminal([DEMO], tmp_path) as demo:
        demo.wait(lambda: moment in demo.raw.decode(errors="replace"), moment)
        demo.send("\x03")
        assert demo.end() == 130
        said = "\n".join(demo.said())
    assert "Stopped. Nothing runs any more, and nothing is left." in said
    place = re.search(r"/tmp/demo-\w+", said)
    # Its name is only said once the cluster runs.
    if place:
        assert not os.path.exists(place.group())
        assert processes_of(place.group()) == []
    else:
        assert moment == "sluice up"
