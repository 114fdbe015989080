"""The metrics of a real ledger, as tools other than ours read them; the alert rules and dashboards that use them."""

import functools
import http.server
import json
import pathlib
import re
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
import wave

import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families

HOUSE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(HOUSE / "Tests/Terminal"))
from ledgers import Server  # noqa: E402
from terminal import free_port  # noqa: E402

RULES = HOUSE / "deploy/prometheus/sluice-alerts.yml"
RULES_TEST = HOUSE / "deploy/prometheus/sluice-alerts-test.yml"
DASHBOARDS = sorted((HOUSE / "deploy/grafana").glob("*.json"))
GUIDE = HOUSE / "docs/troubleshooting.md"
PATIENCE = 600

# What a worker does that has lost a root, whose room dies, and that is lost later.
TROUBLE = """
set search_path = sluice;
create temporary table w as select * from register_worker('w', 'h', '1', 1, (select l.needs from lane l));
select count(*) from w, beat(w.worker, w.secret, worker_status => '{"pausedBecause": "away", "pausedRoots": ["archive"]}');
create temporary table c as select c.* from w, claim(w.worker, w.secret, 1) c;
select count(*) from fail((select jsonb_agg(jsonb_build_object('job', c.job, 'epoch', c.epoch, 'lease_id', c.lease_id,
    'code', 'room_crashed', 'class', 'infrastructure', 'stage', 'decode', 'message', 'm', 'room_death', true)) from c));
"""

# A worker that lives and has lost a root.
AWAY = """
set search_path = sluice;
create temporary table v as select * from register_worker('v', 'h', '1', 1, (select l.needs from lane l limit 1));
select count(*) from v, beat(v.worker, v.secret, worker_status => '{"pausedBecause": "away", "pausedRoots": ["archive"]}');
"""


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    """A ledger in which a job was completed, twelve have failed, and a room has died."""
    server = Server()
    folder = tmp_path_factory.mktemp("audio")
    with wave.open(str(folder / "sound.wav"), "wb") as file:
        file.setparams((1, 2, 48000, 0, "NONE", ""))
        file.writeframes(bytes(96_000))
    # Submits the sound and twelve empty files.
    ledger = server.ledger(folder)
    ledger.query(TROUBLE)
    worker = ledger.start("worker", "--root", "local=/", "--slots", "1", "--name", "w")
    try:
        until(lambda: int(ledger.query("select completed + failed from sluice.status()")) >= 12)
        yield ledger
    finally:
        worker.terminate()
        worker.wait()
        server.stop()


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        # Neither the end of a job nor a scrape reaches this process, so it has to ask.
        time.sleep(0.1)


def test_promtool_has_nothing_to_say_against_the_page(ledger):
    page = ledger.run("metrics")
    done = subprocess.run(["promtool", "check", "metrics"], input=page, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    # The tool does notice.
    worse = page.replace("sluice_leases_lost_total", "sluice_leases_lost")
    assert subprocess.run(["promtool", "check", "metrics"], input=worse, capture_output=True, text=True).returncode != 0


def test_the_page_is_openmetrics(ledger):
    families = {family.name: family for family in text_string_to_metric_families(ledger.run("metrics", "--openmetrics"))}
    assert families["sluice_attempts"].type == "counter"
    assert families["sluice_bytes"].unit == "bytes"
    assert families["sluice_job_run_seconds"].type == "histogram"
    assert families["sluice_build"].type == "info"
    done = sum(
        sample.value for sample in families["sluice_attempts"].samples if sample.labels["outcome"] == "completed"
    )
    assert done == 1
    assert sum(sample.value for sample in families["sluice_source_seconds"].samples) == pytest.approx(1)
    assert sum(sample.value for sample in families["sluice_bytes"].samples) == (ledger.folder / "out/sound.mp3").stat().st_size


def test_alert_rules_fire_when_they_should():
    done = subprocess.run(["promtool", "test", "rules", str(RULES_TEST)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@functools.cache
def rules():
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return group["rules"]


def test_every_rule_is_tested_both_ways():
    tests = [test for group in yaml.safe_load(RULES_TEST.read_text())["tests"] for test in group["alert_rule_test"]]
    for rule in rules():
        name = rule["alert"]
        kinds = {bool(test.get("exp_alerts")) for test in tests if test["alertname"] == name}
        assert kinds == {True, False}, name


def test_every_alert_has_a_part_of_the_guide():
    headings = {line.strip("# \n").lower() for line in GUIDE.read_text().splitlines() if line.startswith("### ")}
    for rule in rules():
        page, anchor = rule["annotations"]["runbook"].split("#")
        assert HOUSE / page == GUIDE
        assert anchor == rule["alert"].lower() and anchor in headings


# A live Prometheus


class Page(http.server.BaseHTTPRequestHandler):
    text = ""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.text.encode())

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def prometheus(ledger, tmp_path_factory):
    """The address of a Prometheus that has scraped the page of the ledger."""
    # What a worker reports counts for the length of its lease, so this one reports last.
    ledger.query(AWAY)
    Page.text = ledger.run("metrics", "--openmetrics")
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    folder = tmp_path_factory.mktemp("prometheus")
    settings = {
        "global": {"scrape_interval": "1s"},
        "rule_files": [str(RULES)],
        "scrape_configs": [
            {"job_name": "sluice", "static_configs": [{"targets": [f"127.0.0.1:{web.server_port}"]}]}
        ],
    }
    (folder / "prometheus.yml").write_text(json.dumps(settings))
    address = f"127.0.0.1:{free_port()}"
    words = [f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data", f"--web.listen-address={address}"]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(["prometheus", *words], stdout=log, stderr=log)
    try:
        until(lambda: process.poll() is not None or has_scraped(address))
        assert process.poll() is None, (folder / "log").read_text()
        yield address
    finally:
        process.terminate()
        process.wait()
        web.shutdown()


def ask(address, expression):
    query = urllib.parse.urlencode({"query": expression})
    with urllib.request.urlopen(f"http://{address}/api/v1/query?{query}", timeout=PATIENCE) as reply:
        answer = json.load(reply)
    assert answer["status"] == "success", answer
    return answer["data"]["result"]


def has_scraped(address):
    try:
        return any(sample["value"][1] == "1" for sample in ask(address, "up"))
    except OSError:
        return False


def expressions():
    """Every query of the rules and dashboards, by where it is."""
    for rule in rules():
        yield rule["alert"], rule["expr"]
    for path in DASHBOARDS:
        board = json.loads(path.read_text())
        for panel in board["panels"]:
            for target in panel["targets"]:
                yield f"{board['title']}: {panel['title']}", target["expr"]
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                yield f"{board['title']}: {variable['name']}", variable["query"].removeprefix("label_values(").split(",")[0]


def test_every_metric_in_alerts_and_dashboards_is_in_a_live_scrape(prometheus):
    names = {name for _, text in expressions() for name in re.findall(r"\bsluice_\w+", text)}
    assert len(names) >= 18
    missing = sorted(name for name in names if not ask(prometheus, name))
    assert not missing


def test_every_query_is_one_that_prometheus_understands(prometheus):
    for place, text in expressions():
        text = text.replace("$__rate_interval", "1m").replace("$__range", "1h").replace("$queue", ".*")
        assert "$" not in text, place
        ask(prometheus, text)


def test_every_metric_of_the_page_is_in_a_dashboard(prometheus):
    used = " ".join(text for _, text in expressions())
    families = text_string_to_metric_families(Page.text)
    assert not [family.name for family in families if family.name not in used]


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.stem)
def test_dashboards_are_tidy(path):
    board = json.loads(path.read_text())
    assert [variable["name"] for variable in board["templating"]["list"]] == ["datasource", "queue"]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    assert len({panel["title"] for panel in board["panels"]}) == len(board["panels"])
    taken = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
        assert panel["datasource"]["uid"] == "${datasource}"
