"""A terminal that tests can look at: a program on a pseudo-terminal, and the screen that it draws."""

import errno
import os
import pathlib
import re
import select
import signal
import time

import pexpect
import pyte

HOUSE = pathlib.Path(__file__).resolve().parents[2]
# What `make test` has built, unless another is named.
SLUICE = pathlib.Path(os.environ.get("SLUICE", HOUSE / ".build/debug/sluice")).resolve()

# Long enough for the slowest machine; only a test that fails waits so long.
PATIENCE = 30

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def environment(**more):
    """What is set after login, and nothing of the person who runs the tests. None takes a variable away."""
    variables = {
        "PATH": f"{SLUICE.parent}:/usr/local/bin:/usr/bin:/bin",
        "HOME": "/nonexistent",
        # Not even the private cluster of the person who runs the tests.
        "XDG_DATA_HOME": "/dev/null/none",
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
    }
    variables.update(more)
    return {name: value for name, value in variables.items() if value is not None}


def listen_to_signals():
    """Tests that run in the background were told to ignore the keyboard's signals, and would pass that on."""
    for number in [signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM]:
        signal.signal(number, signal.SIG_DFL)


class Terminal:
    """A program and its screen."""

    def __init__(self, words, folder, columns=80, lines=24, **variables):
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.child = pexpect.spawn(
            str(words[0]),
            [str(word) for word in words[1:]],
            cwd=str(folder),
            env=environment(**variables),
            dimensions=(lines, columns),
            timeout=PATIENCE,
            preexec_fn=listen_to_signals,
        )
        # Conditions are waited for; nothing is gained by waiting for time.
        self.child.delaybeforesend = None
        self.child.ptyproc.delayafterclose = 0.01
        os.set_blocking(self.child.child_fd, False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.close(force=True)

    def listen(self, seconds=0.02):
        """Takes what the program writes in that time; returns whether it may write more."""
        is_alive = self.child.isalive()
        if is_alive and not select.select([self.child.child_fd], [], [], seconds)[0]:
            return True
        # The last words of a process that has ended may be on their way still, and only reading waits for them: pexpect looks
        # whether there is something to read, and takes a late word for none.
        try:
            heard = os.read(self.child.child_fd, 65536)
        except BlockingIOError:
            return is_alive
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            return False
        self.raw += heard
        self.stream.feed(heard)
        return True

    def wait(self, condition, what):
        """Listens until `condition()` holds, and returns what it gave."""
        deadline = time.monotonic() + PATIENCE
        goes_on = True
        while True:
            answer = condition()
            if answer:
                return answer
            assert goes_on, f"it ended before {what}:\n{self.text()}"
            assert time.monotonic() < deadline, f"no {what}:\n{self.text()}"
            goes_on = self.listen()

    def wait_for_text(self, text):
        self.wait(lambda: text in self.text(), f'"{text}"')

    def end(self):
        """Listens to the end; returns the exit code, or the signal as a negative number."""
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
        """What stands on the screen, without the empty lines below."""
        lines = [line.rstrip() for line in self.screen.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def text(self):
        return "\n".join(self.lines())

    def cursor_line(self):
        return self.screen.display[self.screen.cursor.y].rstrip()

    def said(self):
        """All that was written, line by line and without colours, wherever the screen broke it."""
        return COLOUR.sub("", self.raw.decode()).replace("\r\n", "\n").splitlines()


def run(words, folder, columns=80, **variables):
    """Runs `sluice` on a terminal to its end."""
    terminal = Terminal([SLUICE, *words], folder, columns=columns, **variables)
    with terminal:
        terminal.status = terminal.end()
    return terminal


class HeldSound:
    """A minute of computed sound in a pipe, handed out bit by bit: who converts it is held in the middle."""

    RATE, SECONDS = 8000, 60

    def __init__(self, path):
        os.mkfifo(path)
        # Opened for both ends, which waits for nobody; there is no end until it is closed.
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

    def feed_to(self, seconds, terminal):
        """Hands out the sound up to that second, while `terminal` takes it."""
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
