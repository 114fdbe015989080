"""The page of `sluice report` in a browser: it fits screens and paper, and needs and loads nothing."""

import base64
import pathlib

import pytest

from browsers import Browser

pytestmark = pytest.mark.process

PAGE = pathlib.Path(__file__).parents[1] / "CommandTests/Golden/report.html"

# What a person would see cut: text that is wider than its own element.
CUT = """[...document.querySelectorAll('h1,h2,h3,p,dt,dd,td,th,li,code')]
    .filter(element => element.scrollWidth > element.clientWidth + 1 && getComputedStyle(element).display != 'inline')
    .map(element => element.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    yield browser
    browser.stop()


def show(browser, width, media="screen", scheme="light"):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    browser.ask("Emulation.setEmulatedMedia", media=media, features=features)
    browser.ask("Page.navigate", url=PAGE.as_uri())
    browser.run("new Promise(go => document.readyState == 'complete' ? go() : addEventListener('load', go)).then(() => 1)")


# A page of A4 between its margins is 688 wide.
@pytest.mark.parametrize("media, width", [("screen", w) for w in [320, 390, 800, 1280, 2560]] + [("print", 688), ("print", 1000)])
def test_nothing_is_cut_or_beyond_the_edge(browser, media, width):
    show(browser, width, media)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert browser.run(CUT) == []


def test_light_and_dark_have_the_colours_of_the_page(browser):
    ground = "getComputedStyle(document.body).backgroundColor"
    show(browser, 1280)
    assert browser.run(ground) == "rgb(250, 249, 246)"
    show(browser, 1280, scheme="dark")
    assert browser.run(ground) == "rgb(19, 21, 24)"
    # Paper is white, whatever the screen is.
    show(browser, 1280, "print", "dark")
    assert browser.run(ground) == "rgba(0, 0, 0, 0)"
    assert browser.run("getComputedStyle(document.body).color") == "rgb(27, 29, 32)"


def test_the_page_loads_nothing_and_runs_nothing(browser):
    show(browser, 1280)
    assert browser.run("performance.getEntriesByType('resource').length") == 0
    # The page's own policy: what a name smuggled in would not run either.
    browser.run(
        """const script = document.createElement('script'); script.textContent = 'window.smuggled = 1';
        document.body.append(script);
        document.body.insertAdjacentHTML('beforeend', '<img onerror="window.smuggled = 1">');
        const image = document.body.lastChild;
        new Promise(go => { image.addEventListener('error', go); image.src = 'x' }).then(() => 1)"""
    )
    assert browser.run("typeof window.smuggled") == "undefined"


def test_damage_stands_at_its_share_of_the_strip(browser):
    show(browser, 1280)
    shares = browser.run(
        """[...document.querySelectorAll('.strip')].map(strip => {
            const whole = strip.getBoundingClientRect(), mark = strip.querySelector('path').getBBox();
            return [mark.x / 1000, (mark.x + mark.width) / 1000, whole.width > 500]
        })"""
    )
    # From the beginning to 52 s of 100 s; the last frame; at 23 % of the length.
    assert shares == [[0, 0.52, True], [0.999, 1, True], [0.226, 0.227, True]]


def test_it_prints(browser):
    show(browser, 1280)
    pdf = base64.b64decode(browser.ask("Page.printToPDF", printBackground=False)["data"])
    assert pdf.startswith(b"%PDF-") and 1 <= pdf.count(b"/Type /Page\n") <= 6
