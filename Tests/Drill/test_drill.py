"""A short drill, and that no drill leaves anything behind, however it ends."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest
import yaml

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE))

import enclosure  # noqa: E402
from cluster import NUMBERS  # noqa: E402
from drill import HOUSE  # noqa: E402
from faults import KINDS  # noqa: E402
from machines import PATIENCE, below, wait_until  # noqa: E402
from patroni_pair import HAPROXY, configuration  # noqa: E402

DRILL = [sys.executable, str(HERE / "drill.py")]
WHY = enclosure.why_impossible()
needs_machines = pytest.mark.skipif(WHY is not None, reason=f"drill: {WHY}")


class Running:
    """A drill that runs."""

    def __init__(self, place, *words):
        self.output = place
        with open(place, "wb") as output:
            # A group of its own, as a terminal gives it.
            self.process = subprocess.Popen([*DRILL, *words], stdout=output, stderr=output, start_new_session=True)

    def wait_for_cluster(self):
        wait_until("the cluster runs", lambda: "act 1" in self.said() or self.process.poll() is not None, why=self.said)
        assert self.process.poll() is None, self.said()
        first = below([self.process.pid])[0]
        self.space = os.readlink(f"/proc/{first}/ns/pid")
        # The servers, the workers with their rooms, the coordinators and the drill.
        assert len(self.rest()) > 20

    def said(self):
        return self.output.read_text(errors="replace")

    def rest(self):
        """The processes of the drill."""
        found = []
        for entry in os.listdir("/proc"):
            try:
                if entry.isdigit() and os.readlink(f"/proc/{entry}/ns/pid") == self.space:
                    found.append(entry)
            except OSError:
                continue  # it has ended
        return found


def machine_state():
    """What a drill could leave behind: links, mounts, files. Other tests may leave others meanwhile."""
    links = subprocess.run(["ip", "-brief", "link"], check=True, capture_output=True, text=True).stdout.splitlines()
    mounts = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return (
        {place: sorted(os.listdir(place)) for place in enclosure.PLACES if os.path.isdir(place)},
        [line for line in links if line.split("@")[0].split()[0] in [*NUMBERS, "bridge"]],
        [line for line in mounts if " - tmpfs drill " in line or line.split()[4] in ["/proc", "/etc/hosts"]],
        pathlib.Path("/etc/hosts").read_text(),
    )


@needs_machines
def test_twenty_faults_break_no_promise():
    # The same faults each time: what other seeds find is for `make drill`, not for the author of an unrelated change.
    done = subprocess.run([*DRILL, "--seed", "7", "--faults", "20"], capture_output=True, text=True)
    # The broken promise comes first, as a summary of many tests has one line for each. The story follows it.
    assert done.returncode == 0, done.stdout[max(done.stdout.find("BROKEN"), 0) :] + done.stderr
    assert "20 faults in " in done.stdout and "also spent: 0" in done.stdout


@needs_machines
def test_nothing_is_left_of_a_drill_that_is_ended(tmp_path):
    before = machine_state()
    endings = {
        # Ctrl-C reaches the whole group, a service manager's signal the first process. Nobody can handle SIGKILL.
        "ctrl-c": (lambda process: os.killpg(process.pid, signal.SIGINT), 130),
        "sigterm": (lambda process: process.terminate(), 143),
        "sigkill": (lambda process: process.kill(), -signal.SIGKILL),
    }
    with contextlib.ExitStack() as stack:
        drills = {}
        for name in endings:
            drills[name] = Running(tmp_path / name, "--seed", "1", "--faults", "200")
            stack.callback(drills[name].process.kill)
        for drill in drills.values():
            drill.wait_for_cluster()
        for name, (end, status) in endings.items():
            drill = drills[name]
            end(drill.process)
            assert drill.process.wait(PATIENCE) == status, drill.said()
            wait_until(f"after {name} no process is left", lambda: not drill.rest(), PATIENCE, lambda: str(drill.rest()))
    wait_until("all is as before", lambda: machine_state() == before, PATIENCE, lambda: f"{machine_state()}, not {before}")


@needs_machines
def test_a_broken_promise_is_reported_with_its_story(tmp_path):
    sluice = pathlib.Path(os.environ.get("SLUICE_TEST_PROGRAMS", HOUSE / ".build/debug")) / "sluice"
    worse = tmp_path / "sluice"
    # A build whose outputs do not survive: with each coordinator comes a process that deletes them.
    worse.write_text(f"""#!/bin/sh
# A shell cannot wait for a file.
[ "$1" != coordinator ] || (until rm "$HOME"/out/clip*; do sleep 0.1; done) 2>/dev/null &
exec {sluice} "$@"
""")
    worse.chmod(0o755)
    evidence = HOUSE / ".build/drill/3"
    done = subprocess.run([*DRILL, "--seed", "3", "--faults", "1", "--binary", worse], capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN, seed 3: completed without an output: " in done.stdout
    assert "The story:\n" in done.stdout and "act 1: servers" in done.stdout.split("The story:")[1]
    assert 'make drill ARGS="--seed 3 --faults 1"' in done.stdout
    assert "act 1: servers" in (evidence / "story").read_text() and list((evidence / "log").iterdir())


def test_the_same_seed_gives_the_same_faults():
    def plan(seed, count=200):
        words = [*DRILL, "--plan", "--seed", str(seed), "--faults", str(count)]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    assert plan(7) == plan(7) != plan(8)
    assert len(re.findall(r"^ .*\+", plan(7), flags=re.M)) == 200
    assert len(re.findall("replica promoted that lagged", plan(7))) == 20
    # The short drill has each of the faults.
    for kind in KINDS.keys() - {"vanish", "patroni-black"}:
        assert KINDS[kind].title in plan(7, 20), kind


@pytest.mark.skipif(os.geteuid() != 0, reason="drill: only root can become another user")
def test_other_users_are_told_why_they_cannot_run_it():
    other = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    done = subprocess.run([*other, "/usr/bin/python3", "-B", DRILL[1]], capture_output=True, text=True)
    assert done.stdout == "drill skipped: it needs root, to make network namespaces, bridges and mounts\n"
    assert done.returncode == 77


def test_the_documented_patroni_is_the_tested_one():
    page = (HOUSE / "docs/failover.md").read_text()
    [written] = re.findall(r"```yaml\n(scope:.*?)```", page, flags=re.S)
    tested = keys(configuration("db1", pathlib.Path("/folder"), "/root.crt"))
    assert keys(yaml.safe_load(written)) <= tested
    # The rest is for a small server whose data nobody needs.
    rest = {path.rsplit("/", 1)[1] for path in tested - keys(yaml.safe_load(written))}
    assert rest == {"fsync", "jit", "max_connections", "max_wal_size", "shared_buffers"}
    assert f"```text\n{HAPROXY}```" in page


def keys(tree, path=""):
    """The paths of all keys of nested dictionaries."""
    if not isinstance(tree, dict):
        return set()
    return {f"{path}/{key}" for key in tree}.union(*(keys(value, f"{path}/{key}") for key, value in tree.items()))
