import pathlib
import sys

import pytest

# The server and the environment of the other Python tests.
sys.path.append(str(pathlib.Path(__file__).parents[1] / "Terminal"))

from coordinators import Coordinator  # noqa: E402
from ledgers import Server  # noqa: E402


@pytest.fixture(scope="session")
def server():
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def ledger(server, tmp_path):
    """A fresh, empty ledger."""
    return server.empty_ledger(tmp_path)


@pytest.fixture
def face(ledger):
    """A coordinator that serves requests without a token as a submitter."""
    with Coordinator(ledger, "--open-role", "submitter") as face:
        yield face


@pytest.fixture
def operator(ledger, face):
    """Another coordinator of the same ledger, which serves requests without a token as an operator."""
    with Coordinator(ledger, "--open-role", "operator") as face:
        yield face


@pytest.fixture(scope="session")
def shared(server, tmp_path_factory):
    """A coordinator for tests that change nothing."""
    with Coordinator(server.empty_ledger(tmp_path_factory.mktemp("shared")), "--open-role", "viewer") as face:
        yield face
