"""A whole cluster: a pair of database servers, workers, coordinators and a submitter, each on a machine."""

import pathlib
import random
import resource
import shutil
import signal
import subprocess
import wave

import enclosure
from machines import PATIENCE, Broken, Network, wait_until
from servers import LOGINS, PASSWORD, Authority

WORKERS = ["pump-1", "pump-2", "pump-3"]
COORDINATORS = ["coordinator-1", "coordinator-2"]
NUMBERS = {
    "db1": 11, "db2": 12, "pump-1": 21, "pump-2": 22, "pump-3": 23, "coordinator-1": 31, "coordinator-2": 32,
    "submitter": 41, "dcs": 51, "ledger": 52,
}
# The worker whose clock the drill sets.
CLOCKED = "pump-3"
LEASE_SECONDS = 2
# Short leases provoke more losses, and a job must not be delayed or put into quarantine because of them.
SETTINGS = (
    f"lease = '{LEASE_SECONDS} s', publish_grace = '1 s', retry_base = '100 ms', losses_without_delay = 1000, "
    "workers_lost_allowed = 1000"
)
CLIPS = 24
# The exit code of a command that cannot reach its ledger.
CANNOT_REACH = 5
# How long a conversion of the longest clip takes, in seconds of processor time, and the longest clip.
LONGEST_WORK, LONGEST_CLIP = 0.6, 40


class Sounds:
    """Clips of different lengths, and the outputs that conversions without faults make of them."""

    def __init__(self, folder, sluice, environment):
        self.folder, self.references = folder / "in", folder / "reference"
        self.sluice, self.environment = sluice, environment
        self.folder.mkdir()
        self.references.mkdir()
        # The longest clip takes the same time in any build, if the machine has nothing else to do.
        self.write("pace", 4, random.Random(0))
        longest = min(LONGEST_CLIP, 4 * LONGEST_WORK / self.convert("pace"))
        numbers = random.Random(1)
        self.names = [f"clip{number:02}" for number in range(CLIPS)]
        for place, name in enumerate(self.names):
            self.write(name, max(0.1, longest * (place / CLIPS) ** 2), numbers)
            self.convert(name)

    def write(self, name, seconds, numbers):
        """Writes noise, the same for the same random numbers."""
        frames = int(seconds * 44_100)
        with wave.open(str(self.folder / f"{name}.wav"), "wb") as file:
            file.setparams((2, 2, 44_100, 0, "NONE", ""))
            file.writeframes(numbers.randbytes(4 * frames))

    def convert(self, name):
        """Makes the reference of a clip, and returns the processor time that this took."""
        before = processor_time()
        words = [self.sluice, "convert", self.folder / f"{name}.wav", self.references / f"{name}.opus"]
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise Broken(f"convert {name}: {done.stderr}")
        return processor_time() - before


def processor_time():
    """Seconds that the child processes that have ended have used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Cluster:
    def __init__(self, folder, sluice, other, make_pair):
        self.folder, self.builds = folder, [sluice, other]
        self.out = folder / "out"
        self.environment = {
            "PATH": "/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8", "XDG_DATA_HOME": "/dev/null/none",
        }
        for name in ["out", "log", "ledger"]:
            (folder / name).mkdir()
        self.clock = clock_library()
        self.timers = make_timers(folder)
        self.time = folder / "time"
        self.time.write_text("+0\n")
        self.network = Network()
        for name, number in NUMBERS.items():
            self.network.add(name, number)
        names = folder / "hosts"
        self.network.write_names(names)
        use_names(names)
        self.authority = Authority(folder / "authority", self.clock)
        self.pair = make_pair(self.network, folder / "ledger", self.authority)
        self.sounds = None
        self.processes = {}
        # The services that a fault keeps down.
        self.killed = set()
        # The number of the build that a service runs.
        self.build_of = dict.fromkeys([*WORKERS, *COORDINATORS], 0)
        self.batches = 0
        # The jobs of each batch since the last check.
        self.submitted = {}
        # The outputs of submissions that a failover has lost.
        self.repeated = set()

    @property
    def machines(self):
        return self.network.machines

    def create(self, sounds):
        self.sounds = sounds
        self.pair.create()
        primary = self.pair.primary
        primary.query(f"create role sluice login createrole password '{PASSWORD}'")
        primary.query("create database audio owner sluice")
        self.run("submitter", "sluice", "migrate")
        for login, role in LOGINS.items():
            self.pair.query(f"create role {login} login password '{PASSWORD}' in role {role}")
        self.pair.query(f"update sluice.setting set {SETTINGS}")
        for name in [*COORDINATORS, *WORKERS]:
            self.start(name)
        self.wait_for_start()

    # MARK: - Processes

    def run(self, machine, login, *words, check=True, text=None):
        environment = {**self.environment, "SLUICE_DATABASE_URL": self.pair.address(login)}
        return self.machines[machine].run(self.builds[0], *words, environment=environment, check=check, text=text)

    def start(self, name):
        """Starts the worker or the coordinator of a machine, in the build that it has."""
        environment = {**self.environment, "SLUICE_DATABASE_URL": self.pair.address("pump")}
        words = [self.builds[self.build_of[name]]]
        if name in COORDINATORS:
            words += ["coordinator"]
        else:
            words += ["worker", "--name", name, "--slots", "2", "--grace", "10s"]
            words += ["--root", f"in={self.sounds.folder}:ro", "--root", f"out={self.out}"]
        if name == CLOCKED:
            # The library also shifts readings of another process's processor time, which no kernel does.
            words += ["--job-cpu", "1000d"]
            environment |= {
                "LD_PRELOAD": f"{self.timers}:{self.clock}", "FAKETIME_TIMESTAMP_FILE": str(self.time),
                "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                # Otherwise it also shifts the times of files: a source whose time changes is converted again.
                "NO_FAKE_STAT": "1",
            }
        self.killed.discard(name)
        self.processes[name] = self.machines[name].start(words, self.folder / f"log/{name}", environment)

    def kill(self, name):
        """Kills a service until `start`."""
        self.killed.add(name)
        self.processes[name].kill()

    def have_started(self):
        """Whether all services run that no fault keeps down.

        A service that cannot reach its ledger ends, and is started again, as its service manager does it.
        """
        for name in self.processes.keys() - self.killed:
            process = self.processes[name]
            if not process.is_running():
                if process.child.returncode != CANNOT_REACH:
                    raise Broken(f"{name} ended with status {process.child.returncode}:\n{process.said()[-3000:]}")
                self.start(name)
            if '"started"' not in self.processes[name].said():
                return False
        return True

    def wait_for_start(self):
        wait_until("all services have started", self.have_started, why=self.whereabouts)

    def restart(self, name):
        """Stops a service in order, and starts it again."""
        self.wait_for_start()
        self.processes[name].stop()
        self.start(name)
        self.wait_for_start()

    def set_clock(self, offset):
        self.time.write_text(f"{offset}\n")

    def stop(self):
        """Ends all services, each with exit code 0."""
        self.wait_for_start()
        for name in [*WORKERS, *COORDINATORS]:
            self.processes[name].send(signal.SIGTERM)
        for name in [*WORKERS, *COORDINATORS]:
            if (status := self.processes[name].wait()) != 0:
                raise Broken(f"{name} ended with status {status}:\n{self.processes[name].said()[-3000:]}")

    # MARK: - Work

    def submit(self, count=CLIPS):
        """Submits a batch of jobs whose outputs have names that no other jobs have."""
        self.batches += 1
        key = f"batch{self.batches:04}"
        chosen = random.Random(self.batches).sample(self.sounds.names, count)
        self.submitted[key] = [f"{name}-{key}.opus" for name in chosen]
        self.send(key)
        return key

    def submit_again(self, key):
        """Repeats a submission that a failover may have lost. Outputs that exist by now stay as they are."""
        if self.pair.query(f"select count(*) from sluice.batch where key = '{key}'") == "0":
            self.repeated.update(self.submitted[key])
            self.send(key, "--on-conflict", "skip")

    def send(self, key, *more):
        paths = "".join(f"{self.sounds.folder}/{name.split('-')[0]}.wav\n" for name in self.submitted[key])
        words = ["submit", "--files-from", "-", "--root", f"in={self.sounds.folder}", "--root", f"out={self.out}"]
        words += ["--to", f"{self.out}/{{stem}}-{key}.opus", "--key", key, "--label", key, "--quiet", *more]

        def is_submitted():
            done = self.run("submitter", "producer", *words, check=False, text=paths)
            # The same key makes a repetition harmless.
            if done.returncode not in [0, CANNOT_REACH]:
                raise Broken(f"submit: status {done.returncode}\n{done.stdout}{done.stderr}")
            return done.returncode == 0

        wait_until(f"{key} is submitted", is_submitted)

    def pause(self):
        self.pair.query("update sluice.queue set paused = true")

    def resume(self):
        # The command also tells the workers.
        self.run("submitter", "sluice", "queues", "resume", "default")

    def open_jobs(self):
        return int(self.pair.query(OPEN_JOBS))

    def ended_jobs(self):
        return int(self.pair.query("select count(*) from sluice.finished"))

    def ensure_work(self):
        """Submits jobs until enough are open, and waits until some run."""
        # Counted first: short jobs may end as soon as they are submitted.
        ended = self.ended_jobs()
        while self.open_jobs() < CLIPS:
            self.submit()
        wait_until(
            "jobs run",
            lambda: self.pair.query("select count(*) >= 2 from sluice.running") == "t" or self.ended_jobs() > ended,
            why=self.whereabouts,
        )

    def wait_for_recovery(self):
        """Waits until every worker has a live lease and jobs end again."""
        # Counted first, as above.
        before = self.ended_jobs()
        while self.open_jobs() < 8:
            self.submit()
        alive = (
            "select count(distinct name) from sluice.worker where ended_at is null and lease_until > clock_timestamp()"
        )
        wait_until(
            "all workers are alive and jobs end",
            lambda: self.have_started() and int(self.pair.query(alive)) == len(WORKERS) and self.ended_jobs() > before,
            why=self.whereabouts,
        )

    def wait_until_done(self):
        wait_until("no job is open", lambda: self.open_jobs() == 0, 2 * PATIENCE, self.whereabouts)

    # MARK: - For messages

    def whereabouts(self):
        """Open jobs, workers, and the ends of the logs."""
        lines = []
        for server in self.pair.servers:
            lines.append(f"--- rows of {server.name}")
            lines += [server.query(query, "audio", check=False) or "" for query in WHEREABOUTS]
        for path in sorted((self.folder / "log").iterdir()):
            lines += [f"--- {path.name}", path.read_text(errors="replace")[-2000:]]
        return "\n".join([*lines, self.pair.logs()])


    def stacks(self):
        """Where the threads of all services are, if there is a debugger."""
        if not shutil.which("gdb"):
            return "no gdb\n"
        lines = []
        for name, process in self.processes.items():
            words = ["gdb", "--batch", "--pid", str(process.id), "--ex", "thread apply all backtrace 25"]
            done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE)
            lines += [f"--- {name}", *(line for line in done.stdout.splitlines() if line.startswith(("Thread", "#")))]
        return "\n".join([*lines, ""])


OPEN_JOBS = (
    "select (select count(*) from sluice.waiting) + (select count(*) from sluice.delayed) "
    "+ (select count(*) from sluice.running) + (select count(*) from sluice.publishing)"
)
WHEREABOUTS = [
    "select 'running', job, epoch, worker, frames, since from sluice.running limit 5",
    "select 'publishing', job, epoch, worker, attempt_name, since from sluice.publishing limit 5",
    "select 'waiting', job, epoch, lost, spent, since from sluice.waiting limit 5",
    "select 'delayed', job, epoch, code, ready_at from sluice.delayed limit 5",
    "select 'worker', id, name, ended_at, end_reason, lease_until, now() from sluice.worker order by id desc limit 6",
]


def clock_library():
    """The path of libfaketime, where Debian installs it on either architecture."""
    for folder in pathlib.Path("/usr/lib").glob("*/faketime"):
        return str(folder / "libfaketimeMT.so.1")
    raise Broken("no libfaketime; run scripts/prepare drill")


def make_timers(folder):
    """Compiles timers.c, which see, and returns the path of the library."""
    made = folder / "timers.so"
    # Swift's own clang: a machine that builds Sluice may have no other C compiler.
    swift = pathlib.Path(shutil.which("swift") or "/usr/bin/swift").resolve()
    clang = shutil.which("clang") or swift.with_name("clang")
    source = pathlib.Path(__file__).with_name("timers.c")
    words = [clang, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-o", made, source, "-ldl"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise Broken(f"compile {source}: {done.stderr}")
    return made


def use_names(path):
    """Makes `path` the /etc/hosts of this mount namespace."""
    enclosure.mount(str(path), "/etc/hosts", "none", enclosure.BIND)
