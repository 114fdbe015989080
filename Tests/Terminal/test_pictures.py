"""The pictures of the command in docs/pictures: what they show is what the command prints.

With `SLUICE_REWRITE_DOCS=1` the pictures are made anew: look at them."""

import calendar
import html
import os
import random
import re
import signal
import struct
import subprocess
import wave

import pytest

from screen_picture import picture
from terminal import HOUSE, PATIENCE, SLUICE, Terminal, environment
from test_watch import silence

PICTURES = HOUSE / "docs/pictures"
TEXT = re.compile(r">([^<]*)</text>")


def sound(path, seconds):
    """Mono noise of 16 kHz, of which no encoder makes nothing."""
    noise = random.Random(seconds)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        file.writeframes(b"".join(struct.pack("<h", noise.randrange(-8000, 8000)) for _ in range(seconds * 16000)))


@pytest.fixture
def cluster(server, tmp_path):
    """A worker that has converted eight talks, failed at three, and now runs two long ones."""
    ledger = server.empty_ledger(tmp_path)
    # Locations in the pictures must not depend on the folder of this test.
    talks = tmp_path / "talks"
    talks.mkdir()
    for number in range(1, 9):
        sound(talks / f"ep-{number:03}.wav", 2)
    for number in (9, 10):
        sound(talks / f"ep-{number:03}.wav", 4)
        os.truncate(talks / f"ep-{number:03}.wav", 44 + 2 * 16000 * 2)
    (talks / "notes.wav").write_text("These are notes, and no sound.\n")
    for name in ("live-1.wav", "live-2.wav", "live-3.wav"):
        silence(tmp_path / name, 5 * 3600)
    # With this lease, heartbeats come every four seconds, and a busy machine may delay some.
    ledger.query("update sluice.setting set lease = '12 s'")
    (tmp_path / "out").mkdir()
    roots = ["--root", f"podcasts={tmp_path}", "--root", f"out={tmp_path}/out"]
    worker = ledger.start("worker", *roots, "--slots", "2", "--name", "pump-1")
    try:
        with Terminal(["tail", "-f", "/dev/null"], tmp_path) as clock:
            # One group after the other, so that failures come in this order.
            ended = 0
            for group in [[f"ep-{number:03}" for number in range(1, 9)], ["ep-009", "ep-010"], ["notes"]]:
                talks = [f"podcasts:talks/{name}.wav" for name in group]
                ledger.run("submit", *talks, "--to", "out:{stem}.mp3", "--preset", "podcast-mp3", "--label", "talks")
                ended += len(group)
                count = "select count(*) from sluice.finished"
                clock.wait(lambda: ledger.query(count) == str(ended), f"the end of {group}")
            live = [f"podcasts:live-{number}.wav" for number in (1, 2, 3)]
            ledger.run("submit", *live, "--to", "out:{stem}.m4a", "--preset", "apple-m4a", "--queue", "nightly")
            clock.wait(lambda: len(ledger.ids("--state", "running")) == 2, "two that run")
        yield ledger
    finally:
        # Fails only if a job that should run does not, and the test says that.
        subprocess.run([str(SLUICE), "cancel", "--all", "--yes"], env=environment(**ledger.variables), check=False)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=PATIENCE) == 0


def words_of(svg):
    """What a picture says, without what differs from run to run: numbers, dates, bars and the width of columns."""
    said = html.unescape("\n".join(TEXT.findall(svg)))
    said = re.sub(r"[▏▎▍▌▋▊▉█░]+", "█", said)
    said = re.sub(r"\d[\d.,:]*", "#", said)
    said = re.sub(rf"# ({'|'.join(calendar.month_abbr[1:])})\b", "#", said)
    said = re.sub(r"just now|# (s|min|h) (ago|left)", "…", re.sub(r"/(s|min|h)\b", "/s", said))
    return [word for word in said.split() if word != "█"]


def compare(name, terminal, title):
    made = picture(terminal.screen, len(terminal.lines()), title)
    path = PICTURES / name
    if os.environ.get("SLUICE_REWRITE_DOCS"):
        path.write_text(made)
    assert words_of(made) == words_of(path.read_text()), f"docs/pictures/{name} shows something else; make pictures"


def test_pictures_show_what_the_command_prints(cluster):
    with cluster.terminal("watch", columns=100, lines=18) as terminal:
        terminal.wait(lambda: len(re.findall(r"live-\d.* +\d+%.* [\d,.]+x", terminal.text())) == 2, "two with a speed")
        terminal.wait_for_text("notes.wav")
        compare("watch.svg", terminal, "sluice watch: queues, workers, what runs, the last failures")
        terminal.send("q")
        assert terminal.end() == 0
    compare("errors.svg", cluster.shown("errors", columns=100), "sluice errors: failures in groups")
    failed = cluster.ids("--state", "failed")
    compare("failed-job.svg", cluster.shown("job", min(failed, key=int), columns=100), "sluice job: one job and its attempts")
