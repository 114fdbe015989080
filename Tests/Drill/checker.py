"""The promises of docs/reliability.md, checked once no job is open."""

import ctypes
import hashlib
import os
import struct
import threading

import enclosure
from cluster import CLOCKED
from machines import Broken, wait_until

CREATE, MOVED_TO, OVERFLOW = 0x100, 0x80, 0x4000


class NameWatch:
    """Counts, with inotify, how often a file in a folder gets each name. Ignores hidden names."""

    def __init__(self, folder):
        self.names = {}
        self.has_overflowed = False
        self.descriptor = enclosure.libc.inotify_init1(os.O_CLOEXEC)
        if self.descriptor < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1")
        enclosure.call("inotify_add_watch", self.descriptor, str(folder).encode(), CREATE | MOVED_TO)
        # The kernel queues a limited number of events, so a thread reads them at once.
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        while True:
            news = os.read(self.descriptor, 1 << 16)
            while news:
                _, mask, _, length = struct.unpack_from("iIII", news)
                name = news[16:16 + length].rstrip(b"\0").decode()
                news = news[16 + length:]
                self.has_overflowed = self.has_overflowed or bool(mask & OVERFLOW)
                if name and not name.startswith("."):
                    self.names[name] = self.names.get(name, 0) + 1


class Ended:
    """The row of a job that has ended."""

    def __init__(self, location, state, spent, digest, placement, code):
        self.output = location.removeprefix("out:")
        self.state, self.spent, self.digest, self.placement, self.code = state, spent, digest, placement, code


class Totals:
    """What the checks of a drill have counted."""

    names = ["jobs", "completed", "skipped", "attempts", "lost", "released", "adopted", "also_spent", "left_to_sweep"]

    def __init__(self):
        for name in self.names:
            setattr(self, name, 0)

    def add(self, other):
        for name in self.names:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def values(self):
        return {name: getattr(self, name) for name in self.names}


class Checker:
    """Checks the jobs that were submitted since the last check, and removes their outputs."""

    def __init__(self, cluster, sounds):
        self.cluster = cluster
        self.watch = NameWatch(cluster.out)
        self.references = {path.stem: digest(path) for path in sounds.references.iterdir()}
        # The last job of earlier checks.
        self.last_job = 0
        self.totals = Totals()

    def check(self):
        """Raises `Broken` with every promise that does not hold."""
        totals, wrong = self.examine()
        if wrong:
            raise Broken("\n".join(wrong))
        self.totals.add(totals)
        for name in self.wanted():
            (self.cluster.out / name).unlink()
        self.last_job = int(self.query(LAST_JOB) or 0)
        self.cluster.submitted = {}

    def wanted(self):
        """The outputs of the jobs that were submitted since the last check."""
        return {name for names in self.cluster.submitted.values() for name in names}

    def query(self, statement):
        return self.cluster.pair.query(statement.format(after=self.last_job))

    def examine(self, patience=10):
        """Returns what was counted, and a line for each promise that does not hold."""
        wanted, totals, wrong = self.wanted(), Totals(), []
        rows = [Ended(*line.split("|")) for line in self.query(ENDED).splitlines()]
        completed = [row for row in rows if row.state == "completed"]
        # The ledger has forgotten who made the output, so a job of the repeated submission leaves it alone.
        skipped = [row for row in rows if row.state == "skipped" and row.output in self.cluster.repeated]

        def expect(what, names):
            if names := sorted(names):
                wrong.append(f"{what}: {len(names)}, such as {', '.join(names[:5])}")

        # Nothing lost.
        expect("jobs that the ledger has lost", wanted - {row.output for row in rows})
        expect("jobs that nobody submitted", {row.output for row in rows} - wanted)
        expect("jobs that did not complete", [
            f"{row.output} {row.state} {row.code}" for row in rows if row not in completed + skipped
        ])
        # No job pays for a fault elsewhere.
        expect("jobs that spent an attempt on a fault", [
            f"{row.output} {row.spent}" for row in rows if row.spent != "1"
        ])
        expect("attempts that failed", self.query(FAILURES).splitlines())
        # Nothing twice.
        if self.watch.has_overflowed:
            wrong.append("inotify lost events, so nobody knows what was published twice")
        expect("published more than once", [name for name, count in self.watch.names.items() if count > 1])
        ended = {row.output for row in completed + skipped}
        expect("completed but never published", [name for name in ended if name not in self.watch.names])
        # Nothing truncated.
        present = {name for name in os.listdir(self.cluster.out) if not name.startswith(".")}
        expect("completed without an output", ended - present)
        digests = {name: digest(self.cluster.out / name) for name in present}
        expect("differs from the ledger", [
            row.output for row in completed if digests.get(row.output, row.digest) != row.digest
        ])
        expect("differs from a conversion without faults", [
            name for name in present & wanted if digests[name] != self.references[name.split("-")[0]]
        ])
        # Nothing left behind.
        expect("files that belong to no job", present - wanted)
        others, totals.left_to_sweep = self.wait_for_hidden(patience)
        expect("hidden files that no sweep removes", others)
        # Every attempt has ended.
        expect("jobs with a claim that left no record", self.query(GAPS).splitlines())
        totals.jobs, totals.completed, totals.skipped = len(rows), len(completed), len(skipped)
        totals.adopted = sum(row.placement == "adopted" for row in rows)
        totals.also_spent = sum(int(row.spent) - 1 for row in completed)
        totals.attempts, totals.lost, totals.released = map(int, self.query(ATTEMPTS).split("|"))
        return totals, wrong

    def hidden(self):
        return [name for name in os.listdir(self.cluster.out) if name.startswith(".")]

    def wait_for_hidden(self, patience):
        """Waits until no hidden file is left. Returns those that never go, and how many a sweep will remove.

        A worker that is killed between its two names leaves a file under the first. A ledger that has lost the record
        of it cannot tell anybody to finish it. `check_sweep` checks that workers remove it.
        """
        try:
            wait_until("no hidden file is left", lambda: not self.hidden(), patience)
        except Broken:
            pass  # the answer says so
        orphans = [name for name in self.hidden() if name.endswith(".attempt")]
        return set(self.hidden()) - set(orphans), len(orphans)

    def check_sweep(self):
        """Checks that workers remove what was left, once it is old enough.

        A worker leaves files alone that changed less than ten minutes ago, by its clock. Nothing but the kernel sets the
        time of a file's last change, so a worker's clock is set forward.
        """
        attempt = self.query("select job, epoch, replace(lease_id::text, '-', '') from sluice.attempt limit 1")
        # Not every drill kills a worker between its two names.
        (self.cluster.out / f".planted.opus.sluice-{attempt.replace('|', '-')}.attempt").touch()
        self.cluster.set_clock("+1h")
        self.cluster.restart(CLOCKED)

        def is_swept():
            # A worker sweeps a folder when it first writes there, and other workers may take all jobs.
            self.cluster.submit()
            self.cluster.wait_until_done()
            return not self.hidden()
        wait_until("a worker has swept", is_swept, 60, lambda: "\n".join(self.hidden()))
        self.check()

    def check_end(self):
        """Checks that the cluster, which has stopped, has left no process."""
        def rest():
            return [line for line in processes() if line.startswith("sluice")]

        try:
            wait_until("all rooms have ended", lambda: not rest(), 20)
        except Broken:
            raise Broken(f"processes that are left: {rest()}") from None


def processes():
    """The commands of all processes of the drill."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/comm") as name, open(f"/proc/{entry}/stat") as state:
                    if ") Z " not in state.read():
                        yield f"{name.read().strip()} {entry}"
            except OSError:
                continue  # it has ended


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


ENDED = """
select j.recipe #>> '{{outputs,0,location}}', f.state, f.spent, encode(f.digest, 'hex'),
    coalesce(f.placement::text, 'published'), coalesce(f.code, '')
from sluice.finished f join sluice.job j on j.id = f.job where f.job > {after} order by f.job
"""
LAST_JOB = "select max(job) from sluice.finished"
# Each claim raises the epoch by one, so the number of a job's attempts equals its epoch, starting from 1.
GAPS = """
select f.job from sluice.finished f
left join lateral (select count(*) as n, max(epoch) as last from sluice.attempt a where a.job = f.job) a on true
where f.job > {after} and (a.n <> f.epoch or coalesce(a.last, 0) <> f.epoch)
"""
FAILURES = """
select job || ' ' || epoch || ' ' || code || ' ' || coalesce(message, '') from sluice.attempt
where job > {after} and outcome = 'failed' limit 20
"""
ATTEMPTS = """
select count(*), count(*) filter (where outcome = 'lost'), count(*) filter (where outcome = 'released')
from sluice.attempt where job > {after}
"""
