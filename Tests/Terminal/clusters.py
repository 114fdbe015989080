"""The private cluster of a user whose home is a folder of the test."""

import json
import pathlib
import shutil
import subprocess
import tempfile

from terminal import SLUICE, environment


class PrivateCluster:
    def __init__(self):
        # Not below pytest's folder, which the account of the server may not enter.
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="sluice-home-"))
        self.home.chmod(0o711)
        self.variables = {"XDG_DATA_HOME": str(self.home / "data"), "HOME": str(self.home)}
        self.folder = self.home / "data/sluice"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.run("down")
        shutil.rmtree(self.home)

    def run(self, *words, code=0, behind=(), **more):
        """Runs `sluice` without a terminal, maybe by another program."""
        done = subprocess.run(
            [*behind, str(SLUICE), *words], cwd=self.home, env=environment(**{**self.variables, **more}), capture_output=True, text=True
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def up(self, *words):
        return json.loads(self.run("up", "--json", *words).stdout)

    def link(self, *words):
        return self.run("open", *words).stdout.strip()

    def logs(self):
        return "".join(path.read_text(errors="replace") for path in self.folder.glob("log/**/*") if path.is_file())
