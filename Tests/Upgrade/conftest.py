import math
import os
import pathlib
import struct
import sys
import wave

import pytest

# The server and the terminal of the other Python tests.
sys.path.append(str(pathlib.Path(__file__).parents[1] / "Terminal"))

from ledgers import Server  # noqa: E402

RELEASE = pathlib.Path(os.environ["SLUICE_RELEASE"])


@pytest.fixture(scope="session")
def server():
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def folder(tmp_path):
    """A folder with 200 recordings of a second, all different, and one of half an hour."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    for number in range(200):
        write(tmp_path / f"in/{number:03}.wav", 8_000, number)
    write(tmp_path / "in/long.wav", 8_000 * 1_800, 7)
    return tmp_path


def write(path, frames, seed):
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        turn = [int(9000 * math.sin(frame * (seed + 5) / 800)) for frame in range(8000)]
        block = struct.pack("<8000h", *turn)
        for _ in range(frames // 8000):
            file.writeframes(block)
