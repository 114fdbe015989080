import math
import struct
import wave

import pytest

from ledgers import Server
from terminal import HeldSound


@pytest.fixture
def folder(tmp_path):
    """A folder with half a second of sound under three names."""
    for name in ["talk.wav", "my talk.wav", "講演.wav"]:
        with wave.open(str(tmp_path / name), "wb") as file:
            file.setparams((2, 2, 48000, 0, "NONE", ""))
            samples = (int(9000 * math.sin(frame / 10)) for frame in range(24000))
            file.writeframes(b"".join(struct.pack("<hh", sample, sample) for sample in samples))
    return tmp_path


@pytest.fixture
def sound(tmp_path):
    """A FIFO `sound.wav` in the folder; see HeldSound."""
    held = HeldSound(tmp_path / "sound.wav")
    yield held
    held.close()


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL server that all tests share; each test gets its own ledger."""
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def ledger(server, tmp_path):
    """A fresh ledger in which twelve jobs wait."""
    return server.ledger(tmp_path)
