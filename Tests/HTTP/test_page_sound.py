"""Excerpts: what people hear of sources and outputs on the page of a coordinator."""

import contextlib
import importlib.util
import math
import os
import pathlib
import re
import struct
import time
import wave

import pytest

from browsers import Browser
from coordinators import Coordinator
from terminal import PATIENCE
from test_access import token
from test_page import form, get, log_in, text_of
from test_page_browser import FAULTS, WATCH, log_in as log_in_browser, show, until

ROOTS = ["in", "out", "excerpts"]


@pytest.fixture
def heard(ledger):
    """A coordinator that offers excerpts."""
    for name in ROOTS:
        (ledger.folder / name).mkdir()
    with Coordinator(ledger, "--root", f"excerpts={ledger.folder}/excerpts", "--excerpts", "excerpts") as api:
        yield api


@contextlib.contextmanager
def worker(ledger):
    roots = [word for name in ROOTS for word in ["--root", f"{name}={ledger.folder}/{name}"]]
    process = ledger.start("worker", *roots, "--slots", "2")
    try:
        yield
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0


def tone(path, seconds=3, pause=None):
    """A tone, with a pause from one second to another."""
    frames = bytearray()
    for number in range(48_000 * seconds):
        is_silent = pause and pause[0] <= number / 48_000 < pause[1]
        frames += struct.pack("<h", 0 if is_silent else int(8_000 * math.sin(number * 0.0576)))
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 48_000, 0, "NONE", ""))
        file.writeframes(bytes(frames))


def submit(ledger, api, headers, *items, **more):
    answer = api.post("/api/v1/batches", {"jobs": list(items), **more}, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json()


def excerpts(api, headers, *states):
    """The jobs that make excerpts, oldest first, once all are in one of the states."""
    end = time.monotonic() + PATIENCE
    while True:
        found = api.get("/api/v1/jobs?queue=excerpts", headers=headers)["jobs"]
        if all(job["state"] in states for job in found):
            return sorted(found, key=lambda job: job["id"])
        assert time.monotonic() < end, found
        # Nothing tells when all of them have ended.
        time.sleep(0.05)


def links(page):
    return re.findall(r'<audio [^>]*src="([^"]+)"[^>]* data-side="(\w+)"', page)


def test_sources_and_outputs_are_heard_by_excerpts(ledger, heard):
    tone(ledger.folder / "in/talk.wav")
    headers, viewer = token(ledger, "submitter"), log_in(heard, text_of(ledger, "viewer"))
    session = log_in(heard, headers["authorization"].removeprefix("Bearer "))
    with worker(ledger):
        batch = submit(ledger, heard, headers, {"source": "in:talk.wav", "output": "out:talk.mp3"})
        ledger.run("wait", str(batch["batch"]), "--timeout", f"{PATIENCE}s")
        path = f"/jobs/{batch['firstJob']}"
        assert "Prepare the sound" in get(heard, path, session) and links(get(heard, path, session)) == []
        # Who may not submit has nothing prepared.
        page = get(heard, path, viewer)
        assert "Only submitters can" in page and f'action="{path}/excerpts"' not in page
        assert form(heard, f"{path}/excerpts", {"part": "1"}, origin=heard.url, **viewer).status_code == 403
        assert form(heard, f"{path}/excerpts", {"part": "1"}, origin="http://evil.example", **session).status_code == 403
        answer = form(heard, f"{path}/excerpts", {"part": "1"}, origin=heard.url, **session)
        assert (answer.status_code, answer.headers["location"]) == (303, f"{path}#listen")
        made = excerpts(heard, headers, "completed")
        assert [job["source"] for job in made] == ["in:talk.wav", "out:talk.mp3"]
        # They may take a share of the slots, and are made once.
        [queue] = [queue for queue in heard.get("/api/v1/queues", headers=headers)["queues"] if queue["queue"] == "excerpts"]
        assert queue["runningLimit"] == 1
        form(heard, f"{path}/excerpts", {"part": "1"}, origin=heard.url, **session)
        assert excerpts(heard, headers, "completed") == made
    # Everybody who sees the job hears them: without loss, from the same frame on.
    found = links(get(heard, path, viewer))
    assert found == [(f"/jobs/{made[0]['id']}/outputs/1", "source"), (f"/jobs/{made[1]['id']}/outputs/1", "output")]
    for link, _ in found:
        answer = heard.client.get(link, headers={**viewer, "range": "bytes=0-1023"})
        assert (answer.status_code, answer.headers["content-type"]) == (206, "audio/wav")
        at = answer.content.index(b"fmt ")
        assert struct.unpack_from("<HI", answer.content, at + 10) == (1, 48_000)
        assert struct.unpack_from("<I", answer.content, answer.content.index(b"data") + 4) == (3 * 48_000 * 3,)
    assert heard.client.get(found[0][0]).status_code == 401
    # The files themselves are not served: no root of theirs is named.
    assert heard.client.get(f"{path}/outputs/1", headers=viewer).status_code == 404
    # A coordinator without this option says nothing of excerpts.
    with Coordinator(ledger) as other:
        session = log_in(other, text_of(ledger, "submitter", name="other"))
        assert "Prepare" not in get(other, path, session) and links(get(other, path, session)) == []
        answer = form(other, f"{path}/excerpts", {"part": "1"}, origin=other.url, **session)
        assert answer.status_code == 404 and "not_served" in answer.text


def test_an_excerpt_that_is_gone_is_made_again(ledger, heard):
    tone(ledger.folder / "in/talk.wav", 1)
    headers = token(ledger, "submitter")
    session = log_in(heard, headers["authorization"].removeprefix("Bearer "))
    with worker(ledger):
        batch = submit(ledger, heard, headers, {"source": "in:talk.wav", "output": "out:talk.flac"})
        ledger.run("wait", str(batch["batch"]), "--timeout", f"{PATIENCE}s")
        path = f"/jobs/{batch['firstJob']}"
        form(heard, f"{path}/excerpts", {}, origin=heard.url, **session)
        excerpts(heard, headers, "completed")
        for file in (ledger.folder / "excerpts").rglob("*.*"):
            file.unlink()
        link = links(get(heard, path, session))[0][0]
        assert heard.client.get(link, headers=session).status_code == 410
        form(heard, f"{path}/excerpts", {"again": "yes"}, origin=heard.url, **session)
        assert len(excerpts(heard, headers, "completed")) == 4
        again = links(get(heard, path, session))[0][0]
        assert again != link and heard.client.get(again, headers=session).status_code == 200
        # A source that is gone says so, where the sound would be.
        (ledger.folder / "in/talk.wav").unlink()
        form(heard, f"{path}/excerpts", {"again": "yes"}, origin=heard.url, **session)
        made = excerpts(heard, headers, "completed", "failed")
    assert [job["state"] for job in made].count("failed") == 1


def test_another_sound_at_the_place_of_an_excerpt_is_not_heard(ledger, heard):
    tone(ledger.folder / "in/talk.wav", 1)
    tone(ledger.folder / "in/other.wav", 2)
    headers, other = token(ledger, "submitter"), token(ledger, "submitter", name="other")
    session = log_in(heard, headers["authorization"].removeprefix("Bearer "))
    with worker(ledger):
        batch = submit(ledger, heard, headers, {"source": "in:talk.wav", "output": "out:talk.flac"})
        ledger.run("wait", str(batch["batch"]), "--timeout", f"{PATIENCE}s")
        path = f"/jobs/{batch['firstJob']}"
        form(heard, f"{path}/excerpts", {}, origin=heard.url, **session)
        made = excerpts(heard, headers, "completed")
        recipe = heard.get(f"/api/v1/jobs/{made[0]['id']}", headers=headers)["recipe"]
        recipe["sources"][0]["location"] = "in:other.wav"
        # Also in the queue of excerpts, with everything else as the page asks for it.
        forged = submit(ledger, heard, other, {"recipe": recipe}, queue="excerpts")
        ledger.run("wait", str(forged["batch"]), "--timeout", f"{PATIENCE}s")
        page = get(heard, path, session)
        assert [side for _, side in links(page)] == ["output"] and "Prepare the sound" in page
        form(heard, f"{path}/excerpts", {}, origin=heard.url, **session)
        again = excerpts(heard, headers, "completed")[-1]
    assert again["id"] > forged["lastJob"] and again["source"] == "in:talk.wav"
    link = links(get(heard, path, session))[0][0]
    assert link == f"/jobs/{again['id']}/outputs/1" and heard.client.get(link, headers=session).status_code == 200


def test_a_long_sound_is_heard_in_parts(ledger, heard):
    with wave.open(str(ledger.folder / "in/long.wav"), "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(bytes(2 * 8_000 * 1_300))
    headers = token(ledger, "submitter")
    session = log_in(heard, headers["authorization"].removeprefix("Bearer "))
    with worker(ledger):
        batch = submit(ledger, heard, headers, {"source": "in:long.wav", "output": "out:long.flac"})
        ledger.run("wait", str(batch["batch"]), "--timeout", f"{PATIENCE}s")
        path = f"/jobs/{batch['firstJob']}"
        for part, count in [("2", 3), ("3", 5)]:
            answer = form(heard, f"{path}/excerpts", {"part": part}, origin=heard.url, **session)
            assert answer.headers["location"] == f"{path}?part={part}#listen"
            # The waveform of the whole is made once.
            assert len(excerpts(heard, headers, "completed")) == count
    page = get(heard, f"{path}?part=3", session)
    assert len(links(page)) == 2 and 'data-side="whole"' in page and "Part 3 of 3, 20:00" in page
    sizes = []
    for part in ["2", "3"]:
        link = links(get(heard, f"{path}?part={part}", session))[1][0]
        content = heard.client.get(link, headers=session).content
        sizes.append(struct.unpack_from("<I", content, content.index(b"data") + 4)[0])
    assert sizes == [600 * 8_000 * 3, 100 * 8_000 * 3]
    assert "Prepare the sound" in get(heard, path, session)
    for part, shown in [("-9223372036854775808", 1), ("9223372036854775807", 3), ("x", 1)]:
        assert f"Part {shown} of 3" in get(heard, f"{path}?part={part}", session)


def test_there_is_no_excerpt_of_a_source_that_is_gone(ledger, heard):
    headers = token(ledger, "submitter")
    session = log_in(heard, headers["authorization"].removeprefix("Bearer "))
    with worker(ledger):
        batch = submit(ledger, heard, headers, {"source": "in:none.wav", "output": "out:a.flac"})
        path = f"/jobs/{batch['firstJob']}"
        form(heard, f"{path}/excerpts", {}, origin=heard.url, **session)
        excerpts(heard, headers, "failed")
    page = get(heard, path, session)
    assert "The source is not available" in page and "Prepare the sound" in page


def test_only_so_many_excerpts_wait(ledger, heard):
    headers = token(ledger, "submitter")
    session = log_in(heard, headers["authorization"].removeprefix("Bearer "))
    items = [{"source": f"in:{number}.wav", "output": f"out:{number}.flac"} for number in range(21)]
    batch = submit(ledger, heard, headers, *items)
    paths = [f"/jobs/{job}/excerpts" for job in range(batch["firstJob"], batch["lastJob"] + 1)]
    answers = [form(heard, path, {}, origin=heard.url, **session) for path in paths]
    assert [answer.status_code for answer in answers] == 20 * [303] + [503]
    # Without the limit, they could take all slots.
    ledger.run("queues", "limit", "excerpts", "none")
    answer = form(heard, paths[-1], {}, origin=heard.url, **session)
    assert answer.status_code == 404 and "sluice queues limit excerpts" in answer.text


def test_a_tenant_hears_what_its_jobs_may_read(ledger, heard):
    def session(name, *limits):
        ledger.run("tenants", "create", name)
        ledger.run("tenants", "limit", name, *limits)
        headers = token(ledger, "submitter", "--tenant", name, name=name)
        return headers, log_in(heard, headers["authorization"].removeprefix("Bearer "))

    acme, here = session("acme", "--reads", "in:acme/", "--writes", "out:acme/", "--writes", "excerpts:acme/")
    other, there = session("zenith", "--writes", "out:zenith/")
    tone(ledger.folder / "in/acme/talk.wav", 1)
    with worker(ledger):
        batch = submit(ledger, heard, acme, {"source": "in:acme/talk.wav", "output": "out:acme/talk.flac"})
        ledger.run("wait", str(batch["batch"]), "--timeout", f"{PATIENCE}s")
        path = f"/jobs/{batch['firstJob']}"
        # Others do not see the job, and have nothing of it prepared.
        assert form(heard, f"{path}/excerpts", {}, origin=heard.url, **there).status_code == 404
        form(heard, f"{path}/excerpts", {}, origin=heard.url, **here)
        # Its jobs may not read the output.
        [made] = excerpts(heard, acme, "completed")
    assert made["source"] == "in:acme/talk.wav"
    [file] = (ledger.folder / "excerpts").rglob("*.wav")
    assert file.parent == ledger.folder / "excerpts/acme/excerpts"
    [(link, _)] = links(get(heard, path, here))
    assert heard.client.get(link, headers=here).status_code == 200
    assert heard.client.get(link, headers=there).status_code == 404
    # Where a tenant may not write to that root, nothing is offered.
    own = submit(ledger, heard, other, {"source": "in:acme/talk.wav", "output": "out:zenith/a.flac"})
    assert "Prepare" not in get(heard, f"/jobs/{own['firstJob']}", there)
    assert form(heard, f"/jobs/{own['firstJob']}/excerpts", {}, origin=heard.url, **there).status_code == 404


def test_old_excerpts_are_removed(ledger):
    folder = ledger.folder / "excerpts"
    names = ["excerpts/sluice-excerpt-" + 32 * "a" + ".wav", "excerpts/acme/sluice-excerpt-" + 32 * "b" + ".dat", "excerpts/talk.wav", 32 * "c" + ".wav"]
    names += ["excerpts/sluice-excerpt-" + 32 * "d" + ".wav", "excerpts/" + 32 * "e" + ".wav"]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"RIFF")
    old = time.time() - 9 * 86_400
    for name in names[:4] + names[5:]:
        os.utime(folder / name, (old, old))

    def wait(folder, names, there):
        end = time.monotonic() + PATIENCE
        while [(folder / name).exists() for name in names] != there:
            assert time.monotonic() < end, list(folder.rglob("*"))
            # Nothing tells that they are gone.
            time.sleep(0.05)

    other = ledger.folder / "other"
    (other / names[0]).parent.mkdir(parents=True)
    (other / names[0]).write_bytes(b"RIFF")
    os.utime(other / names[0], (old, old))
    with Coordinator(ledger, "--root", f"x={folder}:ro", "--excerpts", "x"):
        # It looks when it starts, as this one, which starts later.
        with Coordinator(ledger, "--root", f"x={other}", "--excerpts", "x"):
            wait(other, names[:1], [False])
        # A coordinator that may not write there removes nothing.
        assert all((folder / name).exists() for name in names)
    with Coordinator(ledger, "--root", f"x={folder}", "--excerpts", "x"):
        wait(folder, names, [False, False, True, True, True, True])


def test_excerpts_need_a_root(ledger):
    for words in [["--excerpts", "x"], ["--root", "x=/tmp", "--excerpts", "y"]]:
        with pytest.raises(AssertionError):
            ledger.run("coordinator", "--listen", "0", *words)


# MARK: - In a browser

NOTE = "document.querySelector('.play .soft').textContent"
TIMES = "[...document.querySelectorAll('#heard audio')].map(player => player.currentTime)"
CHOSEN = "document.querySelector('[name=heard]:checked').value"


def click(browser, script, across=0.5, button="left"):
    """Clicks as a person does: sound that was not asked for is not played. `across` is where, from the left to the right."""
    browser.run(f"({script}).scrollIntoView({{ block: 'center' }})")
    place = f"(box => [box.x + box.width * {across}, box.y + box.height / 2])"
    x, y = browser.run(f"{place}(({script}).getBoundingClientRect())")
    for kind in ["mousePressed", "mouseReleased"]:
        browser.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)


def button(words):
    return f"[...document.querySelectorAll('#listen button')].find(button => button.textContent == '{words}')"


# Both sides are there, and their peaks have been read.
READY = f"document.querySelector('[value=difference]') != null && ({button('Next silence')}) != null"


def press(browser, key, text=""):
    browser.ask("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, text=text)
    browser.ask("Input.dispatchKeyEvent", type="keyUp", key=key, code=key)


@pytest.mark.process
def test_source_and_output_are_compared_at_the_same_place(ledger, heard, tmp_path):
    tone(ledger.folder / "in/talk.wav", 20, pause=(8, 10))
    secret = text_of(ledger, "submitter")
    headers = {"authorization": f"Bearer {secret}"}
    browser = Browser(tmp_path)
    try:
        browser.ask("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        with worker(ledger):
            louder = {"version": 2, "sources": [{"location": "in:talk.wav"}], "outputs": [
                {"location": "out:louder.mp3", "loudness": {"target": "-10LUFS"}}]}
            items = [{"source": "in:talk.wav", "output": "out:same.flac"}, {"recipe": louder}]
            batch = submit(ledger, heard, headers, *items)
            ledger.run("wait", str(batch["batch"]), "--timeout", f"{PATIENCE}s")
            log_in_browser(browser, heard, secret, f"/jobs/{batch['firstJob']}")
            click(browser, button("Prepare the sound"))
            # Without a reload by hand, the sound is there once it has been made.
            until(browser, READY)
            # Of equal samples nothing remains.
            click(browser, "document.querySelector('[value=difference]')")
            click(browser, button("Play"))
            until(browser, f"{NOTE}.includes('Every sample is equal')")
            show(browser, heard, f"/jobs/{batch['lastJob']}")
            click(browser, button("Prepare the sound"))
            until(browser, READY)
        gain = float(browser.run("document.querySelector('#heard').dataset.gain"))
        assert gain > 1 and f"B is played {gain:.1f} dB quieter" in browser.run(NOTE)
        assert "as the job has measured" in browser.run(NOTE)
        click(browser, button("Play"))
        until(browser, f"{TIMES}.every(time => time > 0.5)")
        # A button that changes its name has no state besides.
        assert browser.run(f"({button('Pause')}).ariaPressed") is None
        # Both are at the same place, whichever is heard.
        for expected in ["source", "output", "source"]:
            press(browser, "x", "x")
            assert browser.run(CHOSEN) == expected
            until(browser, f"Math.abs({TIMES}[0] - {TIMES}[1]) < 0.1")
        click(browser, button("Next silence"))
        until(browser, f"{TIMES}.every(time => time >= 6.9 && time < 9)")
        browser.run("document.querySelector('#heard .wave').focus()")
        press(browser, "ArrowRight")
        until(browser, f"{TIMES}.every(time => time > 11.5)")
        press(browser, " ", " ")
        until(browser, "[...document.querySelectorAll('#heard audio')].every(player => player.paused)")
        click(browser, "document.querySelector('[value=difference]')")
        press(browser, " ", " ")
        until(browser, f"/The difference has -\\d/.test({NOTE})")
        until(browser, "document.querySelector('.wave').ariaValueNow > 11")
        # Behind the end of one of them there is nothing to compare.
        browser.run("document.querySelector('main').dispatchEvent(new CustomEvent('seek', { detail: 20, cancelable: true }))")
        until(browser, f"/ ends? at 0:(19.9|20.0)/.test({NOTE})")
        assert browser.run("bad") == []
        # It stays while the page is read again.
        assert browser.run("document.querySelector('#heard').dataset.own") == ""
        # The package itself wants another driver of browsers.
        axe = pathlib.Path(importlib.util.find_spec("axe_playwright_python").origin).with_name("axe.min.js").read_text()
        for width in [360, 1280]:
            show(browser, heard, f"/jobs/{batch['lastJob']}", width)
            until(browser, READY)
            assert browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
            browser.run(f"{axe}; 1")
            assert browser.run(FAULTS) == []
        # It can be heard without scripts.
        browser.ask("Emulation.setScriptExecutionDisabled", value=True)
        show(browser, heard, f"/jobs/{batch['lastJob']}")
        assert browser.run("[...document.querySelectorAll('#heard audio')].every(player => player.clientHeight > 0)")
    finally:
        browser.stop()


@pytest.mark.process
def test_the_player_goes_on_when_other_files_are_ready(ledger, heard, tmp_path):
    with wave.open(str(ledger.folder / "in/long.wav"), "wb") as file:
        file.setparams((1, 2, 8_000, 0, "NONE", ""))
        file.writeframes(bytes(2 * 8_000 * 1_300))
    secret = text_of(ledger, "submitter")
    headers = {"authorization": f"Bearer {secret}"}
    browser = Browser(tmp_path)
    try:
        browser.ask("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        with worker(ledger):
            batch = submit(ledger, heard, headers, {"source": "in:long.wav", "output": "out:long.flac"})
            ledger.run("wait", str(batch["batch"]), "--timeout", f"{PATIENCE}s")
            path = f"/jobs/{batch['firstJob']}"
            log_in_browser(browser, heard, secret, path)
            click(browser, button("Prepare the sound"))
            until(browser, READY)
            # The waveform of the whole is drawn when it comes.
            until(browser, "document.querySelector('#whole')?.hidden === false")
            click(browser, button("Play"))
            until(browser, f"{TIMES}.every(time => time > 0.5)")
            browser.run("document.querySelector('#heard .wave').focus()")
            for _ in range(4):
                press(browser, "ArrowRight")
            until(browser, f"{TIMES}.every(time => time > 20.5)")
            # As another button than the first, or a finger that scrolls the page.
            click(browser, "document.querySelector('#heard canvas')", 0.5, "right")
            assert browser.run(f"{TIMES}.every(time => time < 200)")
            browser.run("""window.asked = 0; const real = getComputedStyle;
                window.getComputedStyle = (...all) => { asked += 1; return real(...all); }; 1""")
            # Another person has them made again. The page may show that by itself before all are there.
            before = browser.run("document.querySelector('#heard').dataset.key")
            session = log_in(heard, secret)
            form(heard, f"{path}/excerpts", {"again": "yes"}, origin=heard.url, **session)
            assert len(excerpts(heard, headers, "completed")) == 6
            # The page looks again at once, as when a person comes back to it.
            browser.run("document.dispatchEvent(new Event('visibilitychange'))")
            until(browser, f"document.querySelector('#heard').dataset.key != '{before}'")
            assert browser.run(f"{TIMES}.every(time => time > 20)") and browser.run("asked") == 0
            until(browser, f"({button('Pause')}) != null && {TIMES}.every(time => time > 21)")
        until(browser, "document.querySelector('#whole')?.hidden === false")
        click(browser, "document.querySelector('#whole canvas')", 0.95)
        until(browser, "location.search.startsWith('?part=3&at=12')")
        assert browser.run("bad") == []
    finally:
        browser.stop()
