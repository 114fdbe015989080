"""Requests that schemathesis makes from the description of the API, with a token of every role.

SLUICE_API_EXAMPLES=1000 makes more of them; `make fuzz-api` does.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from coordinators import Coordinator
from terminal import environment
from test_access import ROLES, token
from test_operations import jobs

pytestmark = pytest.mark.process

EXAMPLES = os.environ.get("SLUICE_API_EXAMPLES", "8")


@pytest.mark.parametrize("role", ROLES)
def test_no_request_breaks_the_description(ledger, role, tmp_path):
    for name in ["in", "out"]:
        (ledger.folder / name).mkdir()
    roots = ["--root", f"in={ledger.folder}/in", "--root", f"out={ledger.folder}/out"]
    with Coordinator(ledger, *roots, "--uploads", "in", "--downloads", "out") as api:
        submitter = token(ledger, "submitter", name="other")
        api.post("/api/v1/batches", {"jobs": jobs(3)}, headers=submitter)
        # Against its default, an address or a body may also be refused because it is too long.
        statuses = [400, 401, 403, 404, 405, 406, 409, 413, 414, 415, 422, 428, 429, "5xx"]
        settings = f"[checks.negative_data_rejection]\nexpected-statuses = {json.dumps(statuses)}\n"
        (tmp_path / "schemathesis.toml").write_text(settings)
        words = [
            str(pathlib.Path(sys.executable).parent / "schemathesis"), "run", f"{api.url}/openapi.json",
            "--url", api.url, "-H", f"Authorization: {token(ledger, role)['authorization']}",
            # A stream of events has no end.
            "--exclude-path", "/api/v1/events",
            # Some rules join two members, which the description cannot say.
            "--exclude-checks", "positive_data_acceptance",
            "--max-examples", EXAMPLES, "--phases", "examples,coverage,fuzzing,stateful", "--seed", "7", "--no-color",
        ]
        done = subprocess.run(words, cwd=tmp_path, env=environment(), capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-6000:]
        assert api.client.get("/healthz").status_code == 200
        assert '"trouble"' not in api.said()
