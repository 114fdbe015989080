"""The page of `make demo ARGS=page`: it has something to show at every width, and its outputs are heard. With
`SLUICE_PICTURES=FOLDER` its views are kept as pictures, to be looked at. With `SLUICE_REWRITE_DOCS=1` those of README are made
anew, in docs/pictures."""

import base64
import os
import pathlib
import re
import types

import pytest

from browsers import Browser
from terminal import HOUSE, SLUICE, Terminal
from test_page_browser import ROWS, WATCH, log_in, show, until

pytestmark = pytest.mark.process

DEMO = SLUICE.parent / "demo"

LENGTH = """new Promise((go, stop) => {
    const sound = document.querySelector('audio');
    sound.addEventListener('loadedmetadata', () => go(sound.duration));
    sound.addEventListener('error', () => stop(new Error(sound.error.message)));
    sound.preload = 'metadata';
    sound.load();
})"""


def keep(browser, name):
    folder = os.environ.get("SLUICE_PICTURES")
    if not folder:
        return
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    image = browser.ask("Page.captureScreenshot", format="webp", quality=70)["data"]
    pathlib.Path(folder, f"{name}.webp").write_bytes(base64.b64decode(image))


def keep_for_readers(browser, name, height):
    """Makes a picture of README: the upper part of a view, at the width at which README shows it."""
    if not os.environ.get("SLUICE_REWRITE_DOCS"):
        return
    clip = {"x": 0, "y": 0, "width": 1000, "height": height, "scale": 1}
    image = base64.b64decode(browser.ask("Page.captureScreenshot", format="png", clip=clip, optimizeForSpeed=False)["data"])
    # Everyone who clones the repository gets it.
    assert len(image) < 200_000, len(image)
    folder = HOUSE / "docs/pictures"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.png").write_bytes(image)


def processes_of(folder):
    """The processes whose environment contains the folder."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            if process.name.isdigit() and folder.encode() in (process / "environ").read_bytes():
                found.append(process)
        except OSError:
            # The process has ended meanwhile.
            continue
    return found


def look(browser, api):
    def first(path):
        """The path of the first job of a list."""
        show(browser, api, path)
        until(browser, "document.querySelector('tbody .src a') != null")
        return browser.run("new URL(document.querySelector('tbody .src a').href).pathname")

    views = {"overview": "/", "jobs": "/jobs", "failures": "/failures", "queues": "/queues", "workers": "/workers"}
    views["failed"] = first("/jobs?state=failed&code=truncated")
    views["damaged"] = first("/jobs?state=completed&source-contains=scratched")
    for width, scheme in [(360, "dark"), (1280, "light"), (1280, "dark"), (2560, "light")]:
        for name, path in views.items():
            show(browser, api, path, width, scheme)
            assert browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0, (name, width)
            assert browser.run("bad") == [], (name, width)
            keep(browser, f"{name}-{width}-{scheme}")
    # The output of the scratched file is whole, with silence where the scratch was.
    show(browser, api, views["damaged"])
    assert browser.run(LENGTH) > 1
    assert browser.run("document.querySelectorAll('td[data-seek]').length") > 0
    # Its peaks are drawn, and lead to what they show.
    until(browser, "document.querySelector('canvas').clientWidth > 600")
    browser.run("""document.querySelector('canvas').dispatchEvent(new PointerEvent('pointerdown',
        { clientX: document.querySelector('canvas').getBoundingClientRect().left + 300 }))""")
    until(browser, "document.querySelector('audio').currentTime > 0")
    # The pictures of README show the same at the width of a column.
    for name, path in [("overview", views["overview"]), ("job", views["damaged"])]:
        show(browser, api, path, 1000)
        if name == "job":
            until(browser, "document.querySelector('canvas').clientWidth > 400")
        keep_for_readers(browser, name, 640)
    # What waits begins when its queue is resumed, and the list shows it.
    show(browser, api, "/queues")
    browser.run("document.querySelector('[name=resume]').click()")
    until(browser, "document.querySelector('[name=resume]') == null")
    show(browser, api, "/jobs?queue=nightly&state=completed")
    until(browser, f"{ROWS}.length > 10")
    assert browser.run("bad") == []


def test_the_page_of_the_demonstration(tmp_path):
    browser = Browser(tmp_path)
    try:
        browser.ask("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        with Terminal([DEMO, "page"], tmp_path) as demo:
            demo.wait(lambda: "serving HTTP" in demo.raw.decode(errors="replace"), "a page")
            said = "\n".join(demo.said())
            [url] = set(re.findall(r"http://localhost:\d+", said))
            api = types.SimpleNamespace(url=url)
            log_in(browser, api, re.search(r"slt_\S+", said).group())
            look(browser, api)
            demo.send("\x03")
            assert demo.end() == 130
            said = "\n".join(demo.said())
    finally:
        browser.stop()
    assert "Stopped: all processes have ended and all files are removed." in said
    place = re.search(r"/tmp/demo-\w+", said).group()
    assert not os.path.exists(place) and processes_of(place) == []
