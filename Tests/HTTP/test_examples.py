"""The examples of docs/api.md and docs/examples, as they stand there."""

import json
import re
import signal
import subprocess
import sys
import threading
import time
import wave

import pytest

from coordinators import Coordinator
from relay import Relay, cut_after_an_event, pass_on, refuse
from terminal import HOUSE, PATIENCE, environment, stop
from test_access import token
from test_operations import jobs, lines

pytestmark = pytest.mark.process


TUTORIAL, GUIDE = (HOUSE / "docs/api.md").read_text().split("\n## Serving\n")


def blocks(language, text):
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def run_calls(script, folder, port, secret):
    """Runs a block of curl commands as it stands on the page, at the port of a test's coordinator."""
    script = script.replace("localhost:8080", f"127.0.0.1:{port}")
    return subprocess.run(
        ["sh", "-ec", re.sub("^curl ", "curl --silent --show-error --fail-with-body ", script, flags=re.MULTILINE)],
        cwd=folder, env=environment(SLUICE_TOKEN=secret), capture_output=True, text=True
    )


def write_talk(path):
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 8000, 0, "NONE", ""))
        file.writeframes(bytes(16_000))


def names(value):
    """The names in JSON, with those in objects below."""
    if isinstance(value, list):
        return [name for item in value for name in names(item)]
    if isinstance(value, dict):
        return [name for key in sorted(value) for name in [key, *names(value[key])]]
    return []


@pytest.fixture
def guarded(ledger):
    for name in ["in", "out"]:
        (ledger.folder / name).mkdir()
    roots = ["--root", f"in={ledger.folder}/in", "--root", f"out={ledger.folder}/out"]
    with Coordinator(ledger, *roots, "--uploads", "in", "--downloads", "out") as api:
        yield api


def test_every_call_of_the_page_works(ledger, guarded):
    secret = token(ledger, "submitter")["authorization"].removeprefix("Bearer ")
    (ledger.folder / "jobs.ndjson").write_text(lines(jobs(3)))
    calls = [block for block in blocks("sh", GUIDE) if block.startswith("curl")]
    assert len(calls) >= 4
    for call in calls:
        # A stream has no end.
        script = call.replace("--no-buffer", "--max-time 3")
        done = run_calls(script, ledger.folder, guarded.port, secret)
        if "--max-time" in script:
            assert "event: queue" in done.stdout, done
        else:
            assert done.returncode == 0 and done.stdout, done
            assert all(json.loads(line) for line in done.stdout.splitlines()), done


def test_the_tutorial_works(ledger, guarded):
    secret = token(ledger, "submitter")["authorization"].removeprefix("Bearer ")
    write_talk(ledger.folder / "talk.wav")
    roots = [f"in={ledger.folder}/in", f"out={ledger.folder}/out"]
    worker = ledger.start("worker", "--root", roots[0], "--root", roots[1], "--slots", "1")
    try:
        *calls, fetch = [block for block in blocks("sh", TUTORIAL) if block.startswith("curl")]
        answers = [json.loads(block) for block in blocks("json", TUTORIAL)]
        assert len(calls) == len(answers) == 4
        for call, shown in zip(calls, answers, strict=True):
            patience = time.monotonic() + PATIENCE
            while True:
                done = run_calls(call, ledger.folder, guarded.port, secret)
                assert done.returncode == 0, done
                answer = json.loads(done.stdout)
                if not shown.get("isDone") or answer["isDone"]:
                    break
                assert time.monotonic() < patience, answer
                # The page tells readers to ask until the batch is done.
                time.sleep(0.2)
            assert names(answer) == names(shown), call
        done = run_calls(fetch, ledger.folder, guarded.port, secret)
        assert done.returncode == 0, done
        assert (ledger.folder / "talk.mp3").read_bytes() == (ledger.folder / "out/talk.mp3").read_bytes()
    finally:
        worker.terminate()
        assert worker.wait(PATIENCE) == 0


def test_the_client_submits_and_waits(ledger, guarded, tmp_path):
    secret = token(ledger, "submitter")["authorization"].removeprefix("Bearer ")
    write_talk(tmp_path / "in/talk.wav")
    (tmp_path / "in/broken.wav").write_bytes(b"no sound at all")
    worker = ledger.start("worker", "--root", f"in={tmp_path}/in", "--root", f"out={tmp_path}/out", "--slots", "1")
    try:
        def run(*pairs):
            return subprocess.run(
                [sys.executable, str(HOUSE / "docs/examples/submit_and_wait.py"), *pairs],
                env=environment(SLUICE_URL=guarded.url, SLUICE_TOKEN=secret), capture_output=True, text=True,
                timeout=PATIENCE
            )

        done = run("in:talk.wav=out:talk.flac", "in:broken.wav=out:broken.flac")
        assert done.returncode == 1 and done.stdout.splitlines()[-1].startswith("in:broken.wav: "), done
        assert (tmp_path / "out/talk.flac").read_bytes()[:4] == b"fLaC"
        wrong = run("/etc/passwd=out:x.flac")
        assert wrong.returncode == 1 and "the body is not right" in wrong.stderr, wrong
    finally:
        worker.terminate()
        assert worker.wait(PATIENCE) == 0


def test_the_client_sends_and_fetches(ledger, guarded, tmp_path):
    secret = token(ledger, "submitter")["authorization"].removeprefix("Bearer ")
    write_talk(tmp_path / "a talk.wav")
    (tmp_path / "broken.wav").write_bytes(b"no sound at all")
    worker = ledger.start("worker", "--root", f"in={tmp_path}/in", "--root", f"out={tmp_path}/out", "--slots", "1")
    try:
        def run(*words, url=guarded.url):
            return subprocess.run(
                [sys.executable, str(HOUSE / "docs/examples/send_and_fetch.py"), *words], cwd=tmp_path,
                env=environment(SLUICE_URL=url, SLUICE_TOKEN=secret), capture_output=True, text=True,
                timeout=PATIENCE
            )

        done = run("a talk.wav", "a talk.flac")
        assert done.returncode == 0 and done.stdout == "job 1: a talk.flac\n", done
        assert (tmp_path / "a talk.flac").read_bytes()[:4] == b"fLaC"
        assert run("a talk.wav", "a talk.flac").returncode == 0
        # A stream that ends, as that of a coordinator which stops, is not the end of the batch.
        with Relay(guarded, cut_after_an_event, refuse, pass_on) as between:
            (tmp_path / "new.wav").write_bytes((tmp_path / "a talk.wav").read_bytes() + bytes(2))
            stop(worker.pid)
            timer = threading.Timer(4, worker.send_signal, [signal.SIGCONT])
            timer.start()
            interrupted = run("new.wav", "new.flac", url=between.url)
            timer.join()
            assert interrupted.returncode == 0 and "broke off" in interrupted.stderr, interrupted
            assert len(between.requests("/api/v1/events")) >= 3 and (tmp_path / "new.flac").exists()
        broken = run("broken.wav", "b.flac")
        assert broken.returncode == 1 and "error: in:" in broken.stderr and not (tmp_path / "b.flac").exists(), broken
    finally:
        worker.terminate()
        assert worker.wait(PATIENCE) == 0
