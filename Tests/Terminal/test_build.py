"""scripts/build, with a `swift` that crashes."""

import os
import subprocess

import pytest

from terminal import HOUSE


@pytest.mark.parametrize(("crashes", "end", "starts", "status"), [
    (0, "exit 0", 1, 0), (0, "exit 7", 1, 7), (1, "exit 0", 2, 0), (1, "exit 7", 2, 7), (2, "exit 0", 2, 139),
])
def test_a_build_goes_on_after_one_crash(tmp_path, crashes, end, starts, status):
    swift = tmp_path / "swift"
    swift.write_text(f"""#!/bin/sh
echo "$*" >> '{tmp_path}/starts'
[ "$(wc -l < '{tmp_path}/starts')" -gt {crashes} ] || kill -SEGV $$
{end}
""")
    swift.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", "scripts/build --product 'a b'; exit $?"], cwd=HOUSE, env={**os.environ, "PATH": path})
    assert done.returncode == status
    assert (tmp_path / "starts").read_text() == "build --product a b\n" * starts
