import pathlib
import sys

import pytest

# The server and the environment of the other Python tests.
sys.path.append(str(pathlib.Path(__file__).parents[1] / "Terminal"))

from coordinators import Coordinator, CoordinatorProcess  # noqa: E402
from ledgers import Server  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "process: starts processes of its own, or takes half a minute; not in `make check`")


def pytest_collection_modifyitems(items):
    for item in items:
        if "separate" in item.fixturenames:
            item.add_marker(pytest.mark.process)


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
def api(ledger):
    """A coordinator that serves requests without a token as a submitter."""
    with Coordinator(ledger, "--open-role", "submitter") as api:
        yield api


@pytest.fixture
def separate(ledger):
    """The same in a process of its own, which tests may measure."""
    with CoordinatorProcess(ledger, "--open-role", "submitter") as api:
        yield api


@pytest.fixture
def operator(ledger, api):
    """Another coordinator of the same ledger, which serves requests without a token as an operator."""
    with Coordinator(ledger, "--open-role", "operator") as api:
        yield api


@pytest.fixture(scope="session")
def shared(server, tmp_path_factory):
    """A coordinator for tests that change nothing."""
    with Coordinator(server.empty_ledger(tmp_path_factory.mktemp("shared")), "--open-role", "viewer") as api:
        yield api
