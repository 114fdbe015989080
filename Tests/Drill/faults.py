"""The faults of a drill, and the plan of a drill: the same seed gives the same faults in the same order."""

import dataclasses
import random
import signal
import time

from cluster import CLOCKED, COORDINATORS, WORKERS
from machines import wait_until


@dataclasses.dataclass
class Fault:
    kind: str
    # The machine; empty where the fault finds it, such as the current primary.
    target: str = ""
    # When in its round it begins, and how long it lasts.
    delay: float = 0.0
    seconds: float = 0.0
    # What else: the times of a flapping link in seconds after its beginning, or the new offset of the clock.
    more: list = dataclasses.field(default_factory=list)

    def __str__(self):
        words = [KINDS[self.kind].title, self.target]
        words.append(f"for {self.seconds:.1f} s" if self.seconds else "")
        words.append(" ".join(f"{part:.1f}" if isinstance(part, float) else str(part) for part in self.more))
        return " ".join(word for word in words if word)


@dataclasses.dataclass
class Kind:
    title: str
    # Its share of a drill of 200 faults.
    share: int
    # How long it lasts, at least and at most; none if it is over at once.
    seconds: tuple = (0.0, 0.0)
    targets: tuple = ()


LINKED = tuple(WORKERS + COORDINATORS)
KINDS = {
    "black": Kind("link black:", 22, (0.5, 8), LINKED),
    "flap": Kind("link flapping:", 19, (1, 5), LINKED),
    "cut": Kind("link cut:", 15, (0.5, 6), LINKED),
    "kill": Kind("kill -9:", 25, (0.2, 3), LINKED),
    "freeze": Kind("SIGSTOP, later SIGCONT:", 20, (0.5, 6), tuple(WORKERS)),
    "restart": Kind("SIGTERM and start:", 14, targets=LINKED),
    "clock": Kind("clock stepped:", 10, targets=(CLOCKED,)),
    "database-black": Kind("link of the primary black", 15, (0.5, 8)),
    "deploy": Kind("rolling deploy of the other build", 10),
    "failover": Kind("primary killed, replica promoted", 6),
    "vanish": Kind("primary vanished (link black, killed), replica promoted", 4),
    "lag": Kind("primary killed, replica promoted that lagged", 20, (1, 5)),
    "patroni-server": Kind("Patroni: PostgreSQL of the leader killed", 10),
    "patroni-power": Kind("Patroni: machine of the leader killed", 6),
    "patroni-black": Kind("Patroni: link of the leader black", 4),
}
ALONE = ["deploy"]
HEAVY = ["database-black", "failover", "vanish", "lag", "patroni-server", "patroni-power", "patroni-black", *ALONE]
# What may happen beside a fault of the database. An orderly stop would have to wait for the database.
BESIDES = ["black", "flap", "cut", "kill", "freeze"]
CLOCKS = ["+1h", "-1h", "+400d", "-10m", "+0"]


@dataclasses.dataclass
class Act:
    """The part of a drill that has one kind of database servers: `hand`, `haproxy` or `hosts`."""

    pair: str
    rounds: list


def quotas(count, only):
    """How many faults of each kind a drill of `count` faults has: the largest remainders round up."""
    shares = {name: kind.share for name, kind in KINDS.items() if not only or name in only}
    exact = {name: share * count / sum(shares.values()) for name, share in shares.items()}
    given = {name: int(number) for name, number in exact.items()}
    by_rest = sorted(exact, key=lambda name: exact[name] - given[name], reverse=True)
    for name in by_rest[:count - sum(given.values())]:
        given[name] += 1
    return given


def plan(seed, count, only=()):
    """The acts of a drill, with the kinds of faults in `only` or with all."""
    numbers = random.Random(seed)
    given = quotas(count, only)
    kinds = [name for name, times in given.items() for _ in range(times)]
    numbers.shuffle(kinds)
    patroni = [kind for kind in kinds if kind.startswith("patroni-")]
    # Clients reach Patroni's leader in two ways. A short drill tries one of them.
    ways = numbers.sample(["haproxy", "hosts"], 2)[:1 if len(patroni) < 4 else 2]
    shares = {"hand": [kind for kind in kinds if kind in HEAVY and kind not in patroni]}
    for place, kind in enumerate(patroni):
        shares.setdefault(ways[place % len(ways)], []).append(kind)
    lights = [kind for kind in kinds if kind not in HEAVY]
    heavy = sum(map(len, shares.values()))
    acts = []
    for name, some in shares.items():
        # Each act gets its part of the other faults.
        end = len(lights) * len(some) // max(1, heavy) if name != "hand" else len(lights)
        part, lights = (lights[:end], lights[end:]) if name != "hand" else (None, lights)
        acts.append([name, some, part])
    acts[0][2] = lights
    return [Act(name, rounds(numbers, some, part)) for name, some, part in acts if some or part]


def rounds(numbers, heavy, lights):
    """Rounds of up to three faults on different machines, at most one of which is of the database."""
    made, heavy, lights = [], list(heavy), list(lights)
    while heavy or lights:
        first = heavy.pop() if heavy and numbers.random() < len(heavy) / max(1, len(heavy) + len(lights) / 2) else None
        if first is None and not lights:
            first = heavy.pop()
        some = [] if first is None else [fault(numbers, first, ())]
        room = 0 if first in ALONE else numbers.choice([0, 1, 1, 2]) if first else numbers.choice([1, 1, 2, 3])
        for _ in range(room):
            place = next((place for place, kind in enumerate(lights) if first is None or kind in BESIDES), None)
            if place is None:
                break
            some.append(fault(numbers, lights.pop(place), tuple(one.target for one in some)))
        if some:
            made.append(some)
    return made


def fault(numbers, name, taken):
    kind = KINDS[name]
    free = [target for target in kind.targets if target not in taken]
    # A clock has one machine, which may have another fault at the same time.
    target = numbers.choice(free or list(kind.targets)) if kind.targets else ""
    made = Fault(name, target, round(numbers.uniform(0, 1.5), 2), round(numbers.uniform(*kind.seconds), 2))
    if name == "flap":
        times = sorted(round(numbers.uniform(0, made.seconds), 2) for _ in range(2 * numbers.randint(2, 6)))
        made.more = times
    if name == "lag" and numbers.random() < 0.5:
        made.more = ["and loses a submission"]
    if name == "clock":
        made.more = [numbers.choice(CLOCKS)]
    return made


class Injector:
    """Does to a cluster what a fault says."""

    def __init__(self, cluster):
        self.cluster = cluster

    def events(self, fault):
        """What a fault does, as pairs of a time in its round and a function."""
        cluster, begin, end = self.cluster, fault.delay, fault.delay + fault.seconds
        machine, name = cluster.machines.get(fault.target), fault.target
        match fault.kind:
            case "black":
                return [(begin, machine.go_black), (end, machine.come_back)]
            case "flap":
                steps = [machine.go_black, machine.come_back]
                return [(begin + time, steps[place % 2]) for place, time in enumerate(fault.more)]
            case "cut":
                return [(begin, machine.unplug), (end, machine.plug_in)]
            case "kill":
                return [(begin, lambda: cluster.kill(name)), (end, lambda: cluster.start(name))]
            case "freeze":
                send = lambda number: cluster.processes[name].send(number)  # noqa: E731
                return [(begin, lambda: send(signal.SIGSTOP)), (end, lambda: send(signal.SIGCONT))]
            case "restart":
                return [(begin, lambda: cluster.restart(name))]
            case "clock":
                return [(begin, lambda: cluster.set_clock(fault.more[0]))]
            case "database-black":
                machine = cluster.pair.primary.machine
                return [(begin, machine.go_black), (end, machine.come_back)]
            case "deploy":
                return [(begin, self.deploy)]
            case "failover" | "vanish" | "lag":
                return [(begin, lambda: self.fail_over(fault))]
            case "patroni-server" | "patroni-power" | "patroni-black":
                return [(begin, lambda: self.hit_leader(fault.kind))]

    def prepare(self, some):
        """Makes sure that there is work, and that no fault of this round loses a submission."""
        self.cluster.ensure_work()
        if any(fault.kind == "lag" for fault in some):
            # The jobs that the workers will do while the replica lags.
            self.cluster.pause()
            for _ in range(6):
                self.cluster.submit()
        if any(fault.kind in HEAVY[1:] for fault in some):
            pair = self.cluster.pair
            pair.primary.wait_for_replica(pair.replica)

    def repair(self, some):
        """After a failover the old primary becomes the replica."""
        pair = self.cluster.pair
        if any(fault.kind in ["failover", "vanish", "lag"] for fault in some):
            pair.replica.machine.come_back()
            pair.replica.follow(pair.primary)
        elif any(fault.kind.startswith("patroni-") for fault in some):
            for server in pair.servers:
                if not server.process.is_running():
                    server.start()
            pair.wait_for_pair()

    def deploy(self):
        """One service after the other gets the other build."""
        for name in [*COORDINATORS, *WORKERS]:
            self.cluster.build_of[name] = 1 - self.cluster.build_of[name]
            self.cluster.restart(name)

    def fail_over(self, fault):
        pair = self.cluster.pair
        primary, replica = pair.primary, pair.replica
        if fault.kind == "lag":
            replica.machine.go_black()
            ended = self.cluster.ended_jobs()
            self.cluster.resume()
            if fault.more:
                lost = self.cluster.submit()
            let_pass(fault.seconds)
            wait_until(
                "a job ends that the replica does not know", lambda: self.cluster.ended_jobs() > ended,
                why=self.cluster.whereabouts,
            )
        if fault.kind == "vanish":
            primary.machine.go_black()
        primary.lose_power()
        replica.machine.come_back()
        replica.promote()
        pair.swap()
        # A replica that lagged also missed this, and new submissions.
        self.cluster.resume()
        if fault.more:
            self.cluster.submit_again(lost)

    def hit_leader(self, kind):
        pair = self.cluster.pair
        leader = pair.primary
        match kind:
            case "patroni-server":
                leader.kill_server()
            case "patroni-power":
                leader.lose_power()
            case "patroni-black":
                leader.machine.go_black()
        pair.wait_for_leader(other_than=leader)
        leader.machine.come_back()


def let_pass(seconds):
    """Lets the time pass that a fault lasts."""
    # The duration is the drill's input. It must not depend on any event in what the fault hits.
    time.sleep(max(0.0, seconds))
