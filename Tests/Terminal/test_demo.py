"""The demonstration on a terminal: Ctrl-C stops it at any time, and it leaves nothing behind."""

import os
import pathlib
import re

import pytest

from terminal import SLUICE, Terminal

DEMO = SLUICE.parent / "demo"


def processes_of(folder):
    """The processes whose command line or environment contains the folder."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            said = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
            # A zombie has neither.
            if process.name.isdigit() and folder.encode() in said:
                found.append(said)
        except OSError:
            # The process has ended meanwhile, or the entry is not a process.
            continue
    return found


@pytest.mark.parametrize("moment", ["sluice up", "the private cluster is running", 'batch 1 "demo"', " done "])
def test_ctrl_c_leaves_nothing(moment, tmp_path):
    with Terminal([DEMO], tmp_path) as demo:
        demo.wait(lambda: moment in demo.raw.decode(errors="replace"), moment)
        demo.send("\x03")
        assert demo.end() == 130
        said = "\n".join(demo.said())
    assert "Stopped: all processes have ended and all files are removed." in said
    place = re.search(r"/tmp/demo-\w+", said)
    # The demonstration prints the name only once the cluster runs.
    if place:
        assert not os.path.exists(place.group())
        assert processes_of(place.group()) == []
    else:
        assert moment == "sluice up"
