"""The page of `make demo ARGS=page`: it has something to show at every width and looks as it did, and its outputs are heard.
With `SLUICE_REWRITE_DOCS=1` the pictures in docs/pictures, of README and of what each view looked like, are made anew: look at them."""

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

# The views that docs/pictures/page has pictures of.
KEPT = ["overview", "failures", "damaged"]

PICTURES = HOUSE / "docs/pictures"

CHANGE = """(async () => {
    const squares = async data => {
        const image = new Image();
        image.src = `data:image/webp;base64,${data}`;
        await image.decode();
        const canvas = new OffscreenCanvas(Math.ceil(image.width / 8), Math.ceil(image.height / 8));
        const context = canvas.getContext('2d');
        context.imageSmoothingQuality = 'high';
        context.drawImage(image, 0, 0, canvas.width, canvas.height);
        return context.getImageData(0, 0, canvas.width, canvas.height).data;
    };
    const [old, fresh] = [await squares('%s'), await squares('%s')];
    if (old.length != fresh.length) return 1;
    let changed = 0;
    for (let at = 0; at < old.length; at += 4)
        changed += [0, 1, 2].some(part => Math.abs(old[at + part] - fresh[at + part]) > 24);
    return changed / (old.length / 4);
})()"""

LENGTH = """new Promise((go, stop) => {
    const sound = document.querySelector('audio');
    sound.addEventListener('loadedmetadata', () => go(sound.duration));
    sound.addEventListener('error', () => stop(new Error(sound.error.message)));
    sound.preload = 'metadata';
    sound.load();
})"""


def picture(browser, width):
    """The first screen of a view, in half its size."""
    clip = {"x": 0, "y": 0, "width": width, "height": 900, "scale": 0.5}
    return browser.ask("Page.captureScreenshot", format="webp", quality=60, clip=clip)["data"]


def change(browser, old, new):
    """The share of squares of 16 pixels whose colour has changed, from 0 to 1."""
    browser.open("http://pictures.test")
    return browser.run(CHANGE % (old, new))


def compare(browser, name, width, folder):
    """Compares a view with its picture in docs. Names, numbers and times may differ, but not where things are, nor their colours."""
    file = PICTURES / f"page/{name}.webp"
    new = picture(browser, width)
    if os.environ.get("SLUICE_REWRITE_DOCS"):
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(base64.b64decode(new))
        return
    old = base64.b64encode(file.read_bytes()).decode()
    share = change(browser, old, new)
    print(f"{name}: {share:.3f} of the picture is different")
    if share > 0.1:
        file = folder / f"{name}.webp"
        file.write_bytes(base64.b64decode(new))
    assert share <= 0.1, f"the view looks different: compare {file} with docs/pictures/page, and run make pictures if it should"


def keep_for_readers(browser, name, height):
    """Makes a picture of README: the upper part of a view, at the width at which README shows it."""
    if not os.environ.get("SLUICE_REWRITE_DOCS"):
        return
    clip = {"x": 0, "y": 0, "width": 1000, "height": height, "scale": 1}
    image = base64.b64decode(browser.ask("Page.captureScreenshot", format="png", clip=clip, optimizeForSpeed=False)["data"])
    # Everyone who clones the repository gets it.
    assert len(image) < 200_000, len(image)
    (PICTURES / f"{name}.png").write_bytes(image)


def measure(browser, api):
    """Prints how long a person waits with a slow processor on a mobile network; docs/benchmarks.md has the figures."""
    browser.ask("Network.enable")
    browser.ask("Network.setCacheDisabled", cacheDisabled=True)
    browser.ask("Emulation.setCPUThrottlingRate", rate=4)
    # 1.6 Mbit/s, and 150 ms until an answer begins.
    browser.ask("Network.emulateNetworkConditions", offline=False, latency=150, downloadThroughput=200_000, uploadThroughput=94_000)
    for path in ["/", "/jobs", "/failures"]:
        show(browser, api, path)
        # Scripts of the page have run when the event that follows them is over.
        until(browser, "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd > 0")
        times = browser.run("""(({ responseEnd, domContentLoadedEventEnd }) =>
            [responseEnd, domContentLoadedEventEnd])(performance.getEntriesByType('navigation')[0])""")
        print(f"{path}: read after {times[0]:.0f} ms, interactive after {times[1]:.0f} ms")
    show(browser, api, "/queues")
    pressed = browser.run("""new Promise(go => {
        const [button, begin] = [document.querySelector('[name=pause]'), performance.now()];
        button.form.addEventListener('submit', event => event.preventDefault());
        button.click();
        const shown = button.getAttribute('aria-busy');
        requestAnimationFrame(() => requestAnimationFrame(() => go([shown, performance.now() - begin])));
    })""")
    assert pressed[0] == "true"
    print(f"a button that was pressed looks so after {pressed[1]:.0f} ms")
    browser.ask("Emulation.setCPUThrottlingRate", rate=1)
    browser.ask("Network.emulateNetworkConditions", offline=False, latency=0, downloadThroughput=-1, uploadThroughput=-1)
    browser.ask("Network.setCacheDisabled", cacheDisabled=False)


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


def look(browser, api, folder):
    def first(path):
        """The path of the first job of a list."""
        show(browser, api, path)
        until(browser, "document.querySelector('tbody .src a') != null")
        return browser.run("new URL(document.querySelector('tbody .src a').href).pathname")

    views = {"overview": "/", "jobs": "/jobs", "failures": "/failures", "queues": "/queues", "workers": "/workers"}
    views["failed"] = first("/jobs?state=failed&code=truncated")
    views["damaged"] = first("/jobs?state=completed&source-contains=scratched")
    for width in [360, 1280, 2560]:
        for scheme in ["light", "dark"]:
            for name, path in views.items():
                show(browser, api, path, width, scheme)
                assert browser.run("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0, (name, width)
                assert browser.run("bad") == [], (name, width)
                if name == "damaged":
                    # Its waveform is drawn; it is hidden until then.
                    until(browser, "document.querySelector('canvas').clientWidth > 0 && document.querySelector('audio') != null")
                if name in KEPT:
                    compare(browser, f"{name}-{width}-{scheme}", width, folder)
    # All that is open waits in a paused queue. What can be clicked needs no command beside it.
    show(browser, api, "/")
    assert browser.run("document.querySelector('.figs').textContent").endswith("paused")
    assert "sluice errors" not in browser.run("document.querySelector('.needs').textContent")
    # The output of the scratched file is whole, with silence where the scratch was.
    show(browser, api, views["damaged"])
    assert browser.run(LENGTH) > 1
    assert browser.run("document.querySelectorAll('td[data-seek]').length") > 0
    # Its peaks are drawn, and lead to what they show.
    until(browser, "document.querySelector('canvas').clientWidth > 600")
    browser.run("""document.querySelector('canvas').dispatchEvent(new MouseEvent('click',
        { clientX: document.querySelector('canvas').getBoundingClientRect().left + 300 }))""")
    until(browser, "document.querySelector('audio').currentTime > 0")
    # The pictures of README show the same at the width of a column.
    for name, path in [("overview", views["overview"]), ("job", views["damaged"])]:
        show(browser, api, path, 1000)
        if name == "job":
            until(browser, "document.querySelector('canvas').clientWidth > 400")
        keep_for_readers(browser, name, 640)
    measure(browser, api)
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
            look(browser, api, tmp_path)
            demo.send("\x03")
            assert demo.end() == 130
            said = "\n".join(demo.said())
    finally:
        browser.stop()
    assert "Stopped: all processes have ended and all files are removed." in said
    place = re.search(r"/tmp/demo-\w+", said).group()
    assert not os.path.exists(place) and processes_of(place) == []
