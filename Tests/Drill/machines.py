"""Machines that are network namespaces, each linked to one bridge by a pair of veth devices."""

import os
import re
import signal
import subprocess
import time

import enclosure

PATIENCE = 600


class Broken(Exception):
    """An invariant does not hold, or something that must happen has not happened in time."""


def wait_until(what, condition, within=PATIENCE, why=lambda: ""):
    """Checks `condition` until it holds, and returns what it answered. Fails after `within` seconds."""
    end = time.monotonic() + within
    while not (answer := condition()):
        if time.monotonic() > end:
            raise Broken(f"not within {within} s: {what}\n{why()}".rstrip())
        # Servers, ledgers and logs send no event for most of what a drill waits for.
        time.sleep(0.03)
    return answer


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Network:
    """A bridge, and the machines at it. Machine N has the address 10.77.0.N."""

    def __init__(self):
        self.machines = {}
        ip("link", "set", "lo", "up")
        ip("link", "add", "bridge", "type", "bridge", "forward_delay", "0")
        ip("link", "set", "bridge", "up")

    def add(self, name, number):
        machine = Machine(name, f"10.77.0.{number}")
        self.machines[name] = machine
        return machine

    def remove(self):
        for machine in self.machines.values():
            ip("link", "del", machine.port)
            os.close(machine.namespace)
        ip("link", "del", "bridge")

    def write_names(self, path):
        """Writes the names of all machines, in the format of /etc/hosts."""
        lines = [f"{machine.address} {name}" for name, machine in self.machines.items()]
        path.write_text("\n".join(["127.0.0.1 localhost", *lines, ""]))


class Machine:
    """A network namespace with one link. Files are those of the drill, as on machines that share a disk."""

    def __init__(self, name, address):
        self.name, self.address = name, address
        self.namespace = enclosure.new_network()
        self.inside = f"/proc/{os.getpid()}/fd/{self.namespace}"
        # The name of a device has 15 characters at most.
        self.port = name[:15]
        ip("link", "add", self.port, "type", "veth", "peer", "name", "eth0", "netns", self.inside)
        ip("link", "set", self.port, "master", "bridge", "up")
        self.run("ip", "addr", "add", f"{address}/24", "dev", "eth0")
        for device in ["eth0", "lo"]:
            self.run("ip", "link", "set", device, "up")

    # MARK: - Programs

    def wrapped(self, words, user=None):
        """The command line that runs `words` on this machine."""
        other = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups", "--reset-env"] if user else []
        return ["nsenter", f"--net={self.inside}", *other, *map(str, words)]

    def run(self, *words, user=None, environment=None, check=True, limit=PATIENCE, text=None):
        """Runs a program to its end."""
        done = subprocess.run(
            self.wrapped(words, user), env=environment, input=text, capture_output=True, text=True, timeout=limit,
            cwd="/",
        )
        if check and done.returncode != 0:
            line = " ".join(map(str, words))
            raise Broken(f"{self.name}: {line}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def start(self, words, log, environment=None, user=None):
        return Process(self, words, log, environment, user)

    # MARK: - The link

    def go_black(self):
        """Takes the machine off the bridge. It notices nothing: its link is up, and no packet comes back."""
        ip("link", "set", self.port, "nomaster")

    def come_back(self):
        ip("link", "set", self.port, "master", "bridge")

    def unplug(self):
        """Pulls the cable: the machine's link loses its carrier."""
        ip("link", "set", self.port, "down")

    def plug_in(self):
        ip("link", "set", self.port, "up")


class Process:
    """A long-lived program on a machine, which logs to a file."""

    def __init__(self, machine, words, log, environment, user):
        self.machine, self.log = machine, log
        with open(log, "ab") as opened:
            self.before = opened.tell()
            # A new session: Ctrl-C is for the drill, not for the machines.
            self.child = subprocess.Popen(
                machine.wrapped(words, user), env=environment, stdin=subprocess.DEVNULL, stdout=opened, stderr=opened,
                start_new_session=True, cwd="/",
            )

    @property
    def id(self):
        return self.child.pid

    def is_running(self):
        return self.child.poll() is None

    def said(self):
        with open(self.log, "rb") as log:
            log.seek(self.before)
            return log.read().decode(errors="replace")

    def wait_for(self, text, within=PATIENCE):
        """Waits until its log has `text`. Fails if the process ends before."""
        def is_there():
            if text in self.said():
                return True
            if not self.is_running():
                status = self.child.returncode
                raise Broken(f"{self.machine.name} ended ({status}) before \"{text}\":\n{self.said()[-3000:]}")
            return False

        wait_until(f"\"{text}\" in {self.log}", is_there, within, lambda: self.said()[-3000:])

    def send(self, number):
        self.child.send_signal(number)

    def kill(self):
        """Kills this process alone with SIGKILL. Its children have to notice by themselves."""
        self.child.kill()
        self.child.wait()

    def kill_all(self):
        """Kills it and all processes below it, as when a machine loses its power."""
        kill_trees([self.id])
        self.child.wait()

    def wait(self, within=PATIENCE):
        try:
            return self.child.wait(within)
        except subprocess.TimeoutExpired:
            raise Broken(f"{self.machine.name} does not end:\n{self.said()[-3000:]}") from None

    def stop(self, number=signal.SIGTERM):
        """Asks it to end, and fails unless it exits with 0."""
        self.send(number)
        if (status := self.wait()) != 0:
            raise Broken(f"{self.machine.name} ended with status {status}:\n{self.said()[-3000:]}")


def kill_trees(roots):
    """Kills processes and all processes below them. They are stopped first, so that none starts another meanwhile."""
    for sent in [signal.SIGSTOP, signal.SIGKILL]:
        for number in [*roots, *below(roots)]:
            signal_process(number, sent)


def below(roots):
    """The ids of the child processes of `roots`, and of theirs."""
    children = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (parent := parent_of(entry)):
            children.setdefault(parent, []).append(int(entry))
    found, rest = [], list(roots)
    while rest:
        some = children.get(rest.pop(), [])
        found += some
        rest += some
    return found


def signal_process(number, sent):
    try:
        os.kill(number, sent)
    except ProcessLookupError:
        pass


def parent_of(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return int(re.sub(r".*\)", "", file.read(), flags=re.S).split()[1])
    except OSError:
        return None
