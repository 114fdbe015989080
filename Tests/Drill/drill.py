#!/usr/bin/env python3
"""Many machines and many faults:   Tests/Drill/drill.py --seed 7 --faults 200

Starts a cluster of PostgreSQL servers, workers, coordinators and a submitter on machines that are network namespaces,
and lets a seeded sequence of faults happen to it while it converts. Then it checks the promises of
docs/reliability.md. Exits with 0 if all hold, with 1 and the story of the faults if not.
"""

import argparse

import os
import pathlib
import random
import shutil
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
HOUSE = HERE.parents[1]

import enclosure  # noqa: E402
import faults  # noqa: E402
from checker import Checker, Totals  # noqa: E402
from cluster import Cluster, Sounds  # noqa: E402
from machines import Broken  # noqa: E402
from patroni_pair import PairByPatroni  # noqa: E402
from sabotage import Sabotage  # noqa: E402
from servers import PairByHand  # noqa: E402

# The faults between two checks. A check waits until no job is open.
FAULTS_BETWEEN_CHECKS = 10
SKIPPED = 77


class Story:
    """What happened, with times in seconds since the drill began."""

    def __init__(self):
        self.start = time.monotonic()
        self.lines = []

    def tell(self, words):
        self.lines.append(f"{time.monotonic() - self.start:8.2f}  {words}")
        print(self.lines[-1], flush=True)


class Drill:
    def __init__(self, folder, options):
        self.folder, self.options = folder, options
        self.story = Story()
        self.totals = Totals()
        # For each kind of fault: how often it happened, and the longest time until all was well again.
        self.times, self.slowest = {}, {}
        self.cluster, self.sounds = None, None

    def run(self):
        acts = faults.plan(self.options.seed, self.options.faults, self.options.only)
        for number, act in enumerate(acts):
            self.play(number, act)

    def play(self, number, act):
        folder = self.folder / f"act{number}"
        folder.mkdir()
        makers = {
            "hand": PairByHand,
            "haproxy": lambda *rest: PairByPatroni(*rest, has_proxy=True),
            "hosts": lambda *rest: PairByPatroni(*rest, has_proxy=False),
        }
        self.cluster = cluster = Cluster(folder, self.options.binary, self.options.other_binary, makers[act.pair])
        if self.sounds is None:
            self.sounds = Sounds(self.folder, self.options.binary, cluster.environment)
        cluster.create(self.sounds)
        checker = Checker(cluster, self.sounds)
        self.story.tell(f"act {number + 1}: servers {cluster.pair.kind}")
        injector = faults.Injector(cluster)
        since_check = 0
        for some in act.rounds:
            self.play_round(injector, some)
            since_check += len(some)
            if since_check >= FAULTS_BETWEEN_CHECKS:
                self.check(checker)
                since_check = 0
        # The last check of each act first proves itself.
        cluster.submit()
        cluster.wait_until_done()
        Sabotage(cluster, checker).prove()
        self.check(checker)
        checker.check_sweep()
        cluster.stop()
        checker.check_end()
        cluster.pair.stop()
        self.totals.add(checker.totals)
        cluster.network.remove()

    def play_round(self, injector, some):
        """Lets some faults happen at the same time, and waits until the cluster has recovered."""
        injector.prepare(some)
        events = []
        for fault in some:
            for place, (moment, act) in enumerate(injector.events(fault)):
                events.append((moment, act, f"{fault}" if place == 0 else None))
        start = time.monotonic()
        for moment, act, words in sorted(events, key=lambda event: event[0]):
            faults.let_pass(start + moment - time.monotonic())
            if words:
                self.story.tell(words)
            act()
        healed = time.monotonic()
        injector.cluster.wait_for_recovery()
        took = time.monotonic() - healed
        self.story.tell(f"    recovered after {took:.1f} s")
        for fault in some:
            self.times[fault.kind] = self.times.get(fault.kind, 0) + 1
            self.slowest[fault.kind] = max(self.slowest.get(fault.kind, 0), took)
        injector.repair(some)

    def check(self, checker):
        self.cluster.wait_until_done()
        checker.check()
        totals = checker.totals
        self.story.tell(f"    checked: {totals.jobs} jobs, {totals.attempts} attempts, {totals.adopted} adopted")

    def report(self):
        print("\n| fault | times | slowest recovery |\n| --- | --: | --: |")
        for name, kind in faults.KINDS.items():
            if name in self.times:
                print(f"| {kind.title.rstrip(':')} | {self.times[name]} | {self.slowest[name]:.1f} s |")
        print()
        for name, value in self.totals.values().items():
            print(f"{name.replace('_', ' ')}: {value}")
        took = time.monotonic() - self.story.start
        print(f"\n{sum(self.times.values())} faults in {took:.0f} s, seed {self.options.seed}")

    def keep_evidence(self):
        """Copies the logs and the story out of the enclosure."""
        place = HOUSE / f".build/drill/{self.options.seed}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        (place / "story").write_text("\n".join([*self.story.lines, ""]))
        if self.cluster:
            (place / "state").write_text(self.cluster.whereabouts())
            (place / "stacks").write_text(self.cluster.stacks())
            shutil.copytree(self.cluster.folder / "log", place / "log")
            for path in (self.cluster.folder / "ledger").glob("**/log"):
                shutil.copy(path, place / f"{path.parent.name}.log")
        return place


def read_options():
    programs = pathlib.Path(os.environ.get("SLUICE_TEST_PROGRAMS", HOUSE / ".build/debug"))
    parser = argparse.ArgumentParser(description="Faults on a cluster of machines that are network namespaces.")
    parser.add_argument("--seed", type=int, help="repeats the faults of an earlier drill (default: random)")
    parser.add_argument("--faults", type=int, default=200, help="the number of faults (default: 200)")
    parser.add_argument("--only", action="append", choices=faults.KINDS, help="only faults of this kind (repeatable)")
    parser.add_argument("--binary", type=pathlib.Path, default=programs / "sluice", help="the command")
    parser.add_argument("--other-binary", type=pathlib.Path, help="the build for deployments (default: a copy)")
    parser.add_argument("--plan", action="store_true", help="print the faults and do nothing")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1_000_000)
    return options


def print_plan(options):
    for act in faults.plan(options.seed, options.faults, options.only):
        print(f"servers {act.pair}:")
        for number, some in enumerate(act.rounds, 1):
            for fault in some:
                print(f"  {number:>3}  +{fault.delay:.2f} s  {fault}")


def end(number, frame):
    """Ends the drill. The same signal often comes several times: from the terminal, and from the processes above."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


def play(folder, options):
    for number in [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]:
        signal.signal(number, end)
    # Servers and Patroni run as other users and need the path.
    if options.other_binary is None:
        options.other_binary = folder / "other-sluice"
        shutil.copy(options.binary, options.other_binary)
        rooms = options.binary.with_name("sluice-room")
        # A script that starts the build has none beside it.
        if rooms.exists():
            shutil.copy(rooms, folder / rooms.name)
    drill = Drill(folder, options)
    try:
        drill.run()
    except Broken as broken:
        print(f"\nBROKEN, seed {options.seed}: {broken}\n\nThe story:\n" + "\n".join(drill.story.lines))
        print(f"\nLogs: {drill.keep_evidence()}")
        only = "".join(f" --only {kind}" for kind in options.only or [])
        print(f"Again: make drill ARGS=\"--seed {options.seed} --faults {options.faults}{only}\"")
        return 1
    drill.report()
    return 0


def main():
    options = read_options()
    if options.plan:
        return print_plan(options)
    if why := enclosure.why_impossible():
        print(f"drill skipped: {why}")
        return SKIPPED
    # Each service starts in a folder of its own.
    options.binary = options.binary.resolve()
    if not options.binary.exists():
        sys.exit(f"no {options.binary}; build it first: swift build")
    if options.other_binary is not None:
        options.other_binary = options.other_binary.resolve(strict=True)
    print(f"seed {options.seed}, {options.faults} faults, {options.binary}", flush=True)
    used = [str(HOUSE), str(options.binary), str(options.other_binary or ""), sys.executable]
    return enclosure.run(lambda folder: play(folder, options), used)


if __name__ == "__main__":
    sys.exit(main())
