"""Commands that send sources to a cluster and bring outputs back, with a token and no database."""

import contextlib
import hashlib
import http.client
import http.server
import json
import os
import threading
import time
import wave

import pytest

from coordinators import Coordinator
from terminal import PATIENCE
from test_remote import bearer, run

pytestmark = pytest.mark.process


def sound(path, seconds=1):
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, 48_000, 0, "NONE", ""))
        file.writeframes(os.urandom(96_000 * seconds))


def files(folder):
    """Every file below the folder, hidden ones as well, with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Cluster:
    """A coordinator that takes and serves files, a worker with its roots, and a user elsewhere."""

    def __init__(self, ledger, api, here):
        (self.ledger, self.api, self.here) = (ledger, api, here)
        self.uploads, self.outputs = ledger.folder / "in", ledger.folder / "out"
        self.variables = {"SLUICE_URL": api.url, "SLUICE_TOKEN": bearer(ledger, "submitter")}

    def run(self, *words, **more):
        return run(self.here, *words, **{**self.variables, **more})

    def submit(self, *words, **more):
        return self.run("submit", "-r", "talks", "--to", "out:done/{dir}/{stem}.flac", *words, **more)


@contextlib.contextmanager
def running(ledger, *words):
    worker = ledger.start("worker", "--slots", "2", *words)
    try:
        end = time.monotonic() + PATIENCE
        while not ledger.run("workers", "--quiet"):
            assert time.monotonic() < end
            # The worker says nothing to this process.
            time.sleep(0.05)
        yield worker
    finally:
        worker.terminate()
        assert worker.wait(PATIENCE) == 0


@pytest.fixture
def cluster(ledger, tmp_path_factory):
    here = tmp_path_factory.mktemp("here")
    for name in ["in", "out"]:
        (ledger.folder / name).mkdir()
    sound(here / "talks/a.wav")
    sound(here / "talks/more/b.wav")
    roots = ["--root", f"in={ledger.folder}/in", "--root", f"out={ledger.folder}/out"]
    with Coordinator(ledger, *roots, "--uploads", "in", "--downloads", "out") as api, running(ledger, *roots):
        yield Cluster(ledger, api, here)


# MARK: - There and back

def test_files_are_sent_and_outputs_come_back(cluster):
    done = cluster.submit("--wait", "--fetch", "results", "--json")
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[0]["uploads"] == {"to": "in:uploads/", "files": 2, "bytes": lines[0]["uploads"]["bytes"], "present": 0}
    assert "unable" not in lines[0]
    sent = files(cluster.uploads)
    talks = files(cluster.here / "talks")
    assert sorted(sent.values()) == sorted(talks.values())
    assert sorted(name.split("/", 3)[3] for name in sent) == ["a.wav", "b.wav"]
    results = files(cluster.here / "results")
    assert sorted(results) == ["done/a.flac", "done/more/b.flac"] and results == files(cluster.outputs)
    assert lines[-1] == {"fetch": "results", "files": 2, "bytes": sum(map(len, results.values())), "present": 0, "kept": 0,
                         "failed": 0}
    # A repetition sends and fetches nothing, and says so.
    again = cluster.submit("--wait", "--fetch", "results", "--json")
    assert again.returncode == 0, again.stderr
    lines = [json.loads(line) for line in again.stdout.splitlines()]
    assert lines[0]["isRepetition"] and "uploads" not in lines[0]
    assert (lines[-1]["files"], lines[-1]["present"]) == (2, 2)
    assert files(cluster.uploads) == sent


def test_a_dry_run_sends_nothing(cluster):
    done = cluster.submit("--dry-run")
    assert done.returncode == 0 and "uploads     2 files, " in done.stdout and "to in:uploads/" in done.stdout, done
    record = json.loads(cluster.submit("--dry-run", "--json").stdout)
    assert (record["uploads"]["files"], record["jobs"]) == (2, 2)
    assert files(cluster.uploads) == {} and cluster.ledger.run("jobs", "--quiet") == ""


def test_only_what_is_missing_is_sent(cluster):
    first = cluster.run("submit", "talks/a.wav", "--to", "out:first/{stem}.flac", "--json")
    assert json.loads(first.stdout)["uploads"]["files"] == 1, first.stderr
    second = cluster.run("submit", "talks/a.wav", "talks/more/b.wav", "--to", "out:second/{stem}.flac", "--json")
    uploads = json.loads(second.stdout)["uploads"]
    assert (uploads["files"], uploads["present"]) == (2, 1), second.stderr
    assert len(files(cluster.uploads)) == 2


def test_a_file_that_has_changed_is_made_again(cluster):
    assert cluster.submit("--wait", "--fetch", "results").returncode == 0
    before = files(cluster.here / "results")
    sound(cluster.here / "talks/a.wav", seconds=2)
    again = cluster.submit("--json")
    assert again.returncode == 0, again.stderr
    first = json.loads(again.stdout)
    assert (first["findings"]["changed"], first["findings"]["notLookedAt"], first["jobs"]) == (1, 1, 1), first
    # It goes to another place, because uploads replace nothing.
    assert first["uploads"]["files"] == 1 and len(files(cluster.uploads)) == 3, again.stderr
    # The outputs of the first run are here, and another file is not replaced.
    kept = cluster.run("wait", "--batch", "last", "--fetch", "results")
    assert kept.returncode == 1 and "1 output was not fetched" in kept.stderr, kept.stderr
    assert files(cluster.here / "results") == before
    skipped = cluster.run("wait", "--batch", "last", "--fetch", "results", "--on-conflict", "skip")
    assert skipped.returncode == 0 and "1 other file left alone" in skipped.stderr, skipped.stderr
    replaced = cluster.run("wait", "--batch", "last", "--fetch", "results", "--on-conflict", "replace")
    assert replaced.returncode == 0, replaced.stderr
    assert files(cluster.here / "results") == files(cluster.outputs) != before


@pytest.mark.parametrize("value", ["missing", "newer"])
def test_wait_takes_the_variable_of_submit(cluster, value):
    assert cluster.submit("--wait", "--fetch", "results").returncode == 0
    place = cluster.here / "results/done/a.flac"
    place.write_bytes(b"other")
    done = cluster.run("wait", "--batch", "last", "--fetch", "results", SLUICE_ON_CONFLICT=value)
    assert done.returncode == 0 and "1 other file left alone" in done.stderr, done.stderr
    assert cluster.run("wait", "1", SLUICE_ON_CONFLICT=value).returncode == 0
    assert place.read_bytes() == b"other"


def test_a_fetch_that_fails_keeps_no_command_from_running(cluster):
    assert cluster.submit("--wait").returncode == 0

    def lose(path, status, fields, content):
        # What the command reads after the wait.
        if path.startswith("/api/v1/jobs?"):
            return 200, fields, 2, b"{}"
        return status, fields, len(content), content

    with between(cluster.api, lose) as (url, _):
        done = cluster.run("wait", "--batch", "last", "--fetch", "results", "--on-end",
                           "echo $SLUICE_COMPLETED >ended", SLUICE_URL=url)
    assert done.returncode == 1 and "cannot be read" in done.stderr, done.stderr
    assert (cluster.here / "ended").read_text() == "2\n"


def test_transfers_end_with_a_last_record(cluster):
    done = cluster.submit("--wait", "--fetch", "results", "--progress", "json")
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stderr.splitlines() if line.startswith('{"')]
    last = {event["transfer"]: event for event in events if "transfer" in event and event["state"] == "completed"}
    assert sorted(last) == ["fetched", "sent"], done.stderr
    assert all((event["doneFiles"], event["doneBytes"]) == (2, event["bytes"]) for event in last.values()), last


def test_of_several_jobs_the_latest_is_fetched(cluster):
    words = ["submit", "talks/a.wav", "--to", "out:one.flac", "--again", "--on-conflict", "replace", "--wait"]
    assert cluster.run(*words).returncode == 0
    sound(cluster.here / "talks/a.wav", seconds=2)
    assert cluster.run(*words).returncode == 0
    for place, names in enumerate([["--batch", "1", "--batch", "2"], ["1", "--batch", "2"], ["1", "2"]]):
        done = cluster.run("wait", *names, "--fetch", f"results-{place}")
        assert done.returncode == 0, done.stderr
        assert files(cluster.here / f"results-{place}") == files(cluster.outputs)


def test_destinations_on_this_machine_are_refused(cluster):
    done = cluster.run("submit", "talks/a.wav", "--to", "here/{stem}.flac")
    assert done.returncode == 2 and "--fetch DIR" in done.stderr, done.stderr
    elsewhere = cluster.submit("--wait", "--fetch", "results", "--upload-to", "out")
    assert elsewhere.returncode == 2 and "uploads are allowed in: in" in elsewhere.stderr, elsewhere.stderr
    unserved = cluster.run("submit", "talks/a.wav", "--to", "in:{stem}.flac", "--wait", "--fetch", "results")
    assert unserved.returncode == 1 and "serves no outputs of root in" in unserved.stderr, unserved.stderr
    assert files(cluster.uploads) == {}


def test_the_folder_of_uploads_can_be_named(cluster):
    done = cluster.submit("--upload-to", "in:nightly/a")
    assert done.returncode == 0, done.stderr
    assert all(name.startswith("nightly/a/") for name in files(cluster.uploads)) and len(files(cluster.uploads)) == 2


def test_an_intro_is_sent_as_well(cluster):
    sound(cluster.uploads / "there.wav")
    sound(cluster.here / "intro.wav")
    done = cluster.run("submit", "in:there.wav", "--intro", "intro.wav", "--to", "out:{stem}.flac", "--wait", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[0])["uploads"]["files"] == 1
    recipe = json.dumps({
        "version": 2,
        "sources": [{"location": "{source}", "name": "talk"}, {"location": "intro.wav", "name": "intro"}],
        "outputs": [{"location": "out:show/{stem}.flac"}],
        "timeline": {"tracks": [{"pieces": [{"source": "intro"}, {"source": "talk"}]}]},
    })
    (cluster.here / "show.json").write_text(recipe)
    done = cluster.run("submit", "in:there.wav", "--recipe", "show.json", "--wait", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout.splitlines()[0])["uploads"]["files"] == 1
    assert sorted(files(cluster.outputs)) == ["show/there.flac", "there.flac"]


def test_a_wrong_folder_of_uploads_is_refused_also_if_nothing_is_sent(cluster):
    sound(cluster.uploads / "there.wav")
    done = cluster.run("submit", "in:there.wav", "--upload-to", "out:a", "--to", "out:{stem}.flac")
    assert done.returncode == 2 and "takes no files in root out" in done.stderr, done.stderr


def test_named_roots_are_not_sent(cluster):
    sound(cluster.uploads / "there.wav")
    done = cluster.run("submit", str(cluster.uploads / "there.wav"), "talks/a.wav", "--root", f"in={cluster.uploads}",
                       "--to", "out:{stem}.flac", "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["uploads"]["files"] == 1, done.stdout + done.stderr
    assert sorted(job["source"].split("/")[-1] for job in cluster.api.get(
        "/api/v1/jobs", headers={"authorization": f"Bearer {cluster.variables['SLUICE_TOKEN']}"})["jobs"]
    ) == ["a.wav", "in:there.wav"]


def test_a_tenant_sends_files_where_it_may_write(cluster):
    ledger = cluster.ledger
    ledger.run("tenants", "create", "radio")
    ledger.run("tenants", "limit", "radio", "--reads", "in:radio/", "--writes", "in:radio/", "--writes", "out:radio/")
    token = bearer(ledger, "submitter", "--tenant", "radio", name="radio-1")
    done = cluster.run("submit", "talks/a.wav", "--to", "out:radio/{stem}.flac", "--wait", "--fetch", "results",
                       SLUICE_TOKEN=token)
    assert done.returncode == 0, done.stderr
    assert [name.startswith("radio/uploads/") for name in files(cluster.uploads)] == [True]
    assert list(files(cluster.here / "results")) == ["radio/a.flac"]
    # What another one has sent it does not learn of.
    other = f"/api/v1/files/in/{next(iter(files(cluster.uploads)))}"
    ledger.run("tenants", "create", "press")
    ledger.run("tenants", "limit", "press", "--writes", "in:press/")
    press = bearer(ledger, "submitter", "--tenant", "press", name="press-1")
    answer = cluster.api.ask("GET", other, headers={"authorization": f"Bearer {press}"})
    assert answer.status_code == 403, answer.text
    assert cluster.api.get("/api/v1/outputs", headers={"authorization": f"Bearer {press}"}) == {"outputs": []}
    place = {"destination": "out:radio/a.flac", "first": "out:radio/a.flac"}
    for secret, makers in [(token, 1), (press, 0)]:
        found = cluster.api.post("/api/v1/makers", {"outputs": [place]}, headers={"authorization": f"Bearer {secret}"})
        assert [len(one) for one in found.json()["makers"]] == [makers], found.text


def test_a_tenant_that_may_write_anywhere_sends_files_where_its_jobs_may_read(cluster):
    ledger = cluster.ledger
    ledger.run("tenants", "create", "radio")
    ledger.run("tenants", "limit", "radio", "--reads", "in:radio/")
    token = bearer(ledger, "submitter", "--tenant", "radio", name="radio-1")
    done = cluster.run("submit", "talks/a.wav", "--to", "out:radio/{stem}.flac", "--wait", SLUICE_TOKEN=token)
    assert done.returncode == 0, done.stderr
    assert [name.startswith("radio/uploads/") for name in files(cluster.uploads)] == [True]


# MARK: - Refusals

def test_without_uploads_local_files_are_refused(ledger, tmp_path_factory):
    here = tmp_path_factory.mktemp("here")
    sound(here / "a.wav")
    with Coordinator(ledger) as api, running(ledger, "--root", f"in={ledger.folder}"):
        variables = {"SLUICE_URL": api.url, "SLUICE_TOKEN": bearer(ledger, "submitter")}
        refused = run(here, "submit", "a.wav", "--to", "in:{stem}.flac", **variables)
        assert refused.returncode == 1 and "no running worker has root local" in refused.stderr, refused.stderr
        assert "--root NAME=PATH" in refused.stderr and "the workers have in" in refused.stderr
        # What the hint says works.
        named = run(here, "submit", "a.wav", "--root", f"in={here}", "--to", "in:{stem}.flac", **variables)
        assert named.returncode == 0, named.stderr
        # A list of locations names no file of this machine.
        (here / "list").write_text("in:b.wav\n")
        listed = run(here, "submit", "--files-from", "list", "--to", "in:{stem}.flac", **variables)
        assert listed.returncode == 0, listed.stderr
        fetch = run(here, "wait", "--batch", "last", "--fetch", "results", **variables)
        assert fetch.returncode == 1 and "--downloads" in fetch.stderr, fetch.stderr
    assert len(ledger.run("jobs", "--quiet").split()) == 2
    direct = run(here, "wait", "1", "--fetch", "results", "--database", ledger.variables["SLUICE_DATABASE_URL"])
    assert direct.returncode == 2 and "needs a coordinator" in direct.stderr, direct.stderr


def test_files_that_are_too_long_are_named(ledger, tmp_path_factory):
    here = tmp_path_factory.mktemp("here")
    sound(here / "a.wav")
    (ledger.folder / "in").mkdir()
    words = ["--root", f"in={ledger.folder}/in", "--uploads", "in", "--max-upload", "10KiB"]
    with Coordinator(ledger, *words) as api:
        variables = {"SLUICE_URL": api.url, "SLUICE_TOKEN": bearer(ledger, "submitter")}
        done = run(here, "submit", "a.wav", "--to", "in:{stem}.flac", **variables)
    assert done.returncode == 1 and "a.wav" in done.stderr and "--max-upload" in done.stderr, done.stderr
    assert files(ledger.folder / "in") == {} and ledger.run("jobs", "--quiet") == ""


# MARK: - A connection that breaks, and a coordinator that sends wrong answers

@contextlib.contextmanager
def between(api, change):
    """A proxy of the coordinator. `change` gets the path, the status, the fields and the body of each answer, and returns
    them, perhaps with less of a body than the fields say: then the connection ends early."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self):
            content = self.rfile.read(int(self.headers.get("content-length") or 0))
            asked.append((self.command, self.path, self.headers.get("range"), len(content)))
            connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=PATIENCE)
            fields = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            connection.request(self.command, self.path, content, fields)
            answer = connection.getresponse()
            fields = [(name, value) for name, value in answer.getheaders()
                      if name.lower() not in ["connection", "content-length", "transfer-encoding", "date", "server"]]
            status, fields, length, content = change(self.path, answer.status, fields, answer.read())
            self.send_response(status)
            for name, value in fields:
                self.send_header(name, value)
            self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(content)
            if length != len(content):
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_HEAD = pass_on

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def is_output(path):
    return "/outputs/" in path


def test_a_broken_download_goes_on_where_it_ended(cluster):
    assert cluster.submit("--wait").returncode == 0
    left = [2]

    def cut(path, status, fields, content):
        if is_output(path) and left[0] > 0:
            left[0] -= 1
            return status, fields, len(content), content[: len(content) // 3]
        return status, fields, len(content), content

    with between(cluster.api, cut) as (url, asked):
        done = cluster.run("wait", "--batch", "last", "--fetch", "results", SLUICE_URL=url)
    assert done.returncode == 0, done.stderr
    assert files(cluster.here / "results") == files(cluster.outputs)
    ranges = [one[2] for one in asked if is_output(one[1])]
    assert sum(one is not None and one.endswith("-") for one in ranges) >= 2, ranges


def test_storage_that_is_away_is_asked_again(cluster):
    assert cluster.submit("--wait").returncode == 0
    left = [2]

    def away(path, status, fields, content):
        if is_output(path) and left[0] > 0:
            left[0] -= 1
            problem = {"status": 503, "code": "storage_unavailable", "title": "the storage is away"}
            content = json.dumps(problem).encode()
            return 503, [("Content-Type", "application/problem+json")], len(content), content
        return status, fields, len(content), content

    with between(cluster.api, away) as (url, _):
        done = cluster.run("wait", "--batch", "last", "--fetch", "results", SLUICE_URL=url)
        assert done.returncode == 0 and left[0] <= 0, done.stderr
        left[0] = 2
        checked = cluster.run("check", "--all", "--json", SLUICE_URL=url)
    assert checked.returncode == 0 and left[0] <= 0, checked.stdout + checked.stderr
    assert files(cluster.here / "results") == files(cluster.outputs)


def test_another_command_goes_on_where_the_last_one_ended(cluster):
    assert cluster.submit("--wait").returncode == 0
    name, place = "a.flac", cluster.here / "results/done"
    content = (cluster.outputs / "done/a.flac").read_bytes()
    place.mkdir(parents=True)
    # As an earlier command leaves it.
    digest = hashlib.sha256(content).hexdigest()
    (place / f".{name}.sluice-{digest[:16]}.part").write_bytes(content[:1_000])

    def same(path, status, fields, content):
        return status, fields, len(content), content

    with between(cluster.api, same) as (url, asked):
        done = cluster.run("wait", "--batch", "last", "--fetch", "results", SLUICE_URL=url)
    assert done.returncode == 0, done.stderr
    assert "bytes=1000-" in [one[2] for one in asked if is_output(one[1])], asked
    assert files(cluster.here / "results") == files(cluster.outputs)


def test_other_bytes_than_the_job_recorded_get_no_name(cluster):
    assert cluster.submit("--wait").returncode == 0

    def spoil(path, status, fields, content):
        if is_output(path) and status < 300:
            content = content[:-1] + bytes([content[-1] ^ 1])
        return status, fields, len(content), content

    with between(cluster.api, spoil) as (url, _):
        done = cluster.run("wait", "--batch", "last", "--fetch", "results", SLUICE_URL=url)
    assert done.returncode == 1 and "2 outputs were not fetched" in done.stderr and "digest" in done.stderr, done.stderr
    assert files(cluster.here / "results") == {}


def test_an_answer_that_is_longer_than_the_output_is_cut(cluster):
    assert cluster.submit("--wait").returncode == 0

    def lengthen(path, status, fields, content):
        if is_output(path) and status < 300:
            content += bytes(10_000_000)
        return status, fields, len(content), content

    with between(cluster.api, lengthen) as (url, _):
        done = cluster.run("wait", "--batch", "last", "--fetch", "results", SLUICE_URL=url)
    assert done.returncode == 1 and "more than the output" in done.stderr, done.stderr
    assert sum(map(len, files(cluster.here / "results").values())) < 2_000_000


@pytest.mark.parametrize("place", ["out:../../escaped.flac", "out:/etc/escaped.flac", "out:..", "nothing", "out:a\x00b"])
def test_no_place_leads_out_of_the_folder(cluster, place):
    assert cluster.run("submit", "talks/a.wav", "--to", "out:one.flac", "--wait").returncode == 0
    before = files(cluster.here)

    def lead(path, status, fields, content):
        # The name in the recipe of the job.
        content = content.replace(b'"out:one.flac"', json.dumps(place).encode()) if "/jobs/" in path else content
        return status, fields, len(content), content

    with between(cluster.api, lead) as (url, _):
        done = cluster.run("wait", "1", "--fetch", "results/deep", SLUICE_URL=url)
    assert done.returncode in [1, 5], done.stderr
    assert files(cluster.here) == before
    assert not list(cluster.here.parent.rglob("escaped.flac"))


def test_links_in_the_folder_lead_nowhere(cluster):
    assert cluster.submit("--wait").returncode == 0
    outside = cluster.here / "outside"
    outside.mkdir()
    (cluster.here / "results").mkdir()
    (cluster.here / "results/done").symlink_to(outside)
    done = cluster.run("wait", "--batch", "last", "--fetch", "results")
    assert done.returncode == 1, done.stderr
    assert files(outside) == {}


def test_a_broken_upload_is_repeated(cluster):
    left = [2]

    def lose(path, status, fields, content):
        # The answer is lost: the file is there.
        if path.startswith("/api/v1/files/in/") and status == 201 and left[0] > 0:
            left[0] -= 1
            return status, fields, len(content), content[:1]
        return status, fields, len(content), content

    with between(cluster.api, lose) as (url, asked):
        done = cluster.submit("--json", SLUICE_URL=url)
    assert done.returncode == 0 and json.loads(done.stdout)["uploads"]["files"] == 2, done.stderr
    assert len([one for one in asked if one[0] == "PUT"]) == 2, asked
    assert sorted(files(cluster.uploads).values()) == sorted(files(cluster.here / "talks").values())


# MARK: - Reading a batch, and checking it

def test_export_prints_the_same_over_http(cluster):
    assert cluster.submit("--wait").returncode == 0
    viewer = bearer(cluster.ledger, "viewer")
    for words in [[], ["--brief"], ["--outputs"], ["--format", "jsonl"]]:
        over = cluster.run("export", "--batch", "1", *words, SLUICE_TOKEN=viewer)
        assert over.returncode == 0, over.stderr
        assert over.stdout == cluster.ledger.run("export", "--batch", "1", *words)
    missing = cluster.run("export", "--batch", "999", SLUICE_TOKEN=viewer)
    assert missing.returncode == 4, missing.stderr


def test_export_pages_through_a_long_batch(ledger, tmp_path):
    (tmp_path / "names").write_text("".join(f"in:{number}.wav\n" for number in range(1_000)))
    ledger.run("submit", "--files-from", "names", "--to", "out:{stem}.flac")
    with Coordinator(ledger) as api:
        variables = {"SLUICE_URL": api.url, "SLUICE_TOKEN": bearer(ledger, "viewer")}
        over = run(tmp_path, "export", "--batch", "1", **variables)
    assert over.returncode == 0 and over.stdout == ledger.run("export", "--batch", "1"), over.stderr
    assert len(over.stdout.splitlines()) == 1_001


def test_check_compares_over_http(cluster):
    assert cluster.submit("--wait").returncode == 0
    viewer = bearer(cluster.ledger, "viewer")

    def check():
        done = cluster.run("check", "--all", "--json", SLUICE_TOKEN=viewer)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return done.returncode, {line["destination"]: line["finding"] for line in lines[:-1]}, lines[-1]

    code, found, end = check()
    assert (code, found, end["checked"], end["fine"]) == (0, {}, 2, 2), end
    first, second = cluster.outputs / "done/a.flac", cluster.outputs / "done/more/b.flac"
    content = first.read_bytes()
    first.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    second.unlink()
    code, found, end = check()
    assert (code, found) == (3, {"out:done/a.flac": "digest", "out:done/more/b.flac": "missing"}), end
    # Who makes them again has the database.
    repair = cluster.run("check", "--all", "--repair", "--yes", SLUICE_TOKEN=viewer)
    assert repair.returncode == 7 and "needs the database" in repair.stderr, repair.stderr


def test_check_believes_no_proxy(cluster):
    assert cluster.submit("--wait").returncode == 0

    def sign_in(path, status, fields, content):
        # With or without a part, it is not the coordinator's answer.
        if is_output(path):
            page = b"<html>Sign in</html>"
            return 200 if path.endswith("/jobs/1/outputs/1") else 206, [("Content-Type", "text/html")], len(page), page
        return status, fields, len(content), content

    with between(cluster.api, sign_in) as (url, _):
        done = cluster.run("check", "--all", SLUICE_URL=url)
    assert done.returncode not in [0, 3, 9] and "does not name the digest" in done.stderr, done.stdout + done.stderr


def test_check_knows_outputs_that_a_later_job_made(cluster):
    words = ["submit", "talks/a.wav", "--to", "out:one.flac", "--again", "--on-conflict", "replace", "--wait"]
    assert cluster.run(*words).returncode == 0
    sound(cluster.here / "talks/a.wav", seconds=2)
    assert cluster.run(*words).returncode == 0
    done = cluster.run("check", "--all", "--json", SLUICE_TOKEN=bearer(cluster.ledger, "viewer"))
    end = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, end["fine"], end["digest"]) == (0, 1, 0), done.stdout


def test_outputs_are_listed_in_pages(cluster):
    assert cluster.submit("--wait").returncode == 0
    headers = {"authorization": f"Bearer {cluster.variables['SLUICE_TOKEN']}"}
    seen, after = [], {}
    while True:
        page = cluster.api.get("/api/v1/outputs", params={"limit": 1, **after}, headers=headers)
        seen += page["outputs"]
        if "next" not in page:
            break
        after = {"after": page["next"]}
    found = {output["destination"]: (output["bytes"], output["digest"]) for output in seen}
    assert len(seen) == 2 and found == {
        f"out:{name}": (len(content), hashlib.sha256(content).hexdigest())
        for name, content in files(cluster.outputs).items()
    }


def test_check_says_what_it_cannot_see(cluster):
    assert cluster.submit("--wait").returncode == 0
    with Coordinator(cluster.ledger) as api:
        done = cluster.run("check", "--all", "--json", SLUICE_URL=api.url)
    assert (done.returncode, done.stdout) == (9, "") and "no output could be checked" in done.stderr, done
    assert "2 outputs are under roots that are not on this machine (out)" in done.stderr, done.stderr
    # An output that is here is checked, and the others are counted.
    assert cluster.run("submit", "talks/a.wav", "--to", "in:made/{stem}.flac", "--wait").returncode == 0
    with Coordinator(cluster.ledger) as api:
        done = cluster.run("check", "--all", "--json", "--root", f"in={cluster.uploads}", SLUICE_URL=api.url)
    end = json.loads(done.stdout)
    assert (done.returncode, end["checked"], end["fine"], end["notLookedAt"]) == (0, 1, 1, 2), done
