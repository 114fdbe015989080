"""A terminal for tests: a program on a pseudo-terminal, and the screen that it draws."""

import errno
import os
import pathlib
import random
import re
import select
import signal
import socket
import time

import pexpect
import pyte

HOUSE = pathlib.Path(__file__).resolve().parents[2]
# The debug build, unless the variable names another program.
SLUICE = pathlib.Path(os.environ.get("SLUICE", HOUSE / ".build/debug/sluice")).resolve()

# In seconds: the last resort against a hang. No passing test takes as long, not even beside eight other programs.
PATIENCE = 600

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def free_port():
    """A port that no program is given by chance: below those that the system chooses from, and seldom the same again."""
    lowest = int(pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    for port in random.sample(range(lowest - 10_000, lowest), 100):
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("all ports are in use")


def environment(**more):
    """The environment of a fresh login, without the tester's own variables. `None` removes a variable."""
    variables = {
        "PATH": f"{SLUICE.parent}:/usr/local/bin:/usr/bin:/bin",
        # Cannot be created. A shell of root would create /nonexistent, the home of system users, and close it to them.
        "HOME": "/dev/null/none",
        # Keeps the tester's own private cluster out of reach.
        "XDG_DATA_HOME": "/dev/null/none",
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
    }
    variables.update(more)
    return {name: value for name, value in variables.items() if value is not None}


def stop(process):
    """Stops a process with SIGSTOP, and returns when all its threads have stopped.

    Until the kernel runs the thread that takes the signal, the others go on, and may do what comes after it.
    """
    os.kill(process, signal.SIGSTOP)
    end = time.monotonic() + PATIENCE
    while not all(has_stopped(path) for path in pathlib.Path(f"/proc/{process}/task").glob("*/stat")):
        assert time.monotonic() < end, f"{process} does not stop"
        # The kernel reports a stop to the parent alone.
        time.sleep(0.01)


def has_stopped(path):
    try:
        return path.read_text().rpartition(")")[2].split()[0] in "TtZX"
    except (FileNotFoundError, ProcessLookupError):
        # The thread has ended.
        return True


def listen_to_signals():
    """Restores default signal actions: background processes inherit ignored keyboard signals and pass them on."""
    for number in [signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM]:
        signal.signal(number, signal.SIG_DFL)


# The screen would show a part of a sequence that it does not know: fish 4 asks with it for more exact keys.
KEYBOARD = re.compile(rb"\x1b\[[<=>?][\d;]*u")
BEGINNING = re.compile(rb"(\x1b(\[([<=>?][\d;]*)?)?)?$")


class Terminal:
    """A program and its screen."""

    def __init__(self, words, folder, columns=80, lines=24, **variables):
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = self.unshown = b""
        self.child = pexpect.spawn(
            str(words[0]),
            [str(word) for word in words[1:]],
            cwd=str(folder),
            env=environment(**variables),
            dimensions=(lines, columns),
            timeout=PATIENCE,
            preexec_fn=listen_to_signals,
        )
        # Tests wait for conditions, so pexpect's fixed delays are unnecessary.
        self.child.delaybeforesend = None
        self.child.ptyproc.delayafterclose = 0.01
        os.set_blocking(self.child.child_fd, False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.close(force=True)

    def listen(self, seconds=0.02):
        """Reads what the program writes within `seconds`. Returns whether it may write more."""
        is_alive = self.child.isalive()
        if is_alive and not select.select([self.child.child_fd], [], [], seconds)[0]:
            return True
        # The last output of a process that has ended may still be in transit, and only an actual read waits for
        # it: pexpect polls first, and would miss late output.
        try:
            heard = os.read(self.child.child_fd, 65536)
        except BlockingIOError:
            return is_alive
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        self.raw += heard
        self.unshown += heard
        shown = KEYBOARD.sub(b"", self.unshown)
        cut = len(shown) - len(BEGINNING.search(shown)[0])
        self.unshown = shown[cut:]
        self.stream.feed(shown[:cut])
        return True

    def wait(self, condition, what):
        """Reads output until `condition()` is true, and returns its value."""
        deadline = time.monotonic() + PATIENCE
        goes_on = True
        while True:
            answer = condition()
            if answer:
                return answer
            assert goes_on, f"it ended before {what}:\n{self.text()}"
            assert time.monotonic() < deadline, f"no {what}:\n{self.text()}"
            # Output ends the wait at once. A condition on the ledger or on files sends no event.
            goes_on = self.listen()

    def wait_for_text(self, text):
        self.wait(lambda: text in self.text(), f'"{text}"')

    def end(self):
        """Reads to the end of the output. Returns the exit code, or a signal as a negative number."""
        deadline = time.monotonic() + PATIENCE
        while self.listen():
            assert time.monotonic() < deadline, f"no end:\n{self.text()}"
        self.child.wait()
        return self.child.exitstatus if self.child.signalstatus is None else -self.child.signalstatus

    def resize(self, columns, lines=24):
        self.screen.resize(lines, columns)
        self.child.setwinsize(lines, columns)

    def send(self, text):
        self.child.send(text)

    def lines(self):
        """The lines on the screen, without empty lines at the bottom."""
        lines = [line.rstrip() for line in self.screen.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def text(self):
        return "\n".join(self.lines())

    def cursor_line(self):
        return self.screen.display[self.screen.cursor.y].rstrip()

    def said(self):
        """All output, line by line, without colours, and independent of line breaks on the screen."""
        return COLOUR.sub("", self.raw.decode()).replace("\r\n", "\n").splitlines()


def run(words, folder, columns=80, **variables):
    """Runs `sluice` on a terminal to its end."""
    terminal = Terminal([SLUICE, *words], folder, columns=columns, **variables)
    with terminal:
        terminal.status = terminal.end()
    return terminal


class HeldSound:
    """A minute of computed sound in a FIFO, fed bit by bit, so that a test can hold a conversion in the middle."""

    RATE, SECONDS = 8000, 60

    def __init__(self, path):
        os.mkfifo(path)
        # Opened for reading and writing, which never blocks. Readers see no end of file until it is closed.
        self.descriptor = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        size = self.RATE * self.SECONDS * 2
        header = b"RIFF" + (36 + size).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little")
        header += (1).to_bytes(2, "little") * 2 + self.RATE.to_bytes(4, "little")
        header += (self.RATE * 2).to_bytes(4, "little") + (2).to_bytes(2, "little") + (16).to_bytes(2, "little")
        header += b"data" + size.to_bytes(4, "little")
        # A triangle of 100 Hz.
        period = [(abs(frame - 40) - 20) * 400 for frame in range(80)]
        wave = b"".join(sample.to_bytes(2, "little", signed=True) for sample in period)
        self.bytes = header + wave * (size // len(wave))
        self.sent = 0

    def hide_length(self):
        """Makes the header one that was written before the length was known."""
        unknown = b"\xff" * 4
        self.bytes = self.bytes[:4] + unknown + self.bytes[8:40] + unknown + self.bytes[44:]

    def feed_to(self, seconds, terminal):
        """Feeds the sound up to `seconds`, as fast as the program in `terminal` reads it."""
        goal = min(len(self.bytes), 44 + int(seconds * self.RATE * 2))

        def is_sent():
            while self.sent < goal:
                try:
                    self.sent += os.write(self.descriptor, self.bytes[self.sent : goal])
                except BlockingIOError:
                    return False
            return True

        terminal.wait(is_sent, "taking the sound")

    def close(self):
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
