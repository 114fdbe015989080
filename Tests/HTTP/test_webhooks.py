"""What coordinators send to webhooks, and what they do not."""

import collections
import json
import os
import re
import signal
import subprocess
import threading
import time

import pytest

from coordinators import Coordinator, CoordinatorProcess, takes_less_than
from ledgers import Server
from receivers import Receiver, check
from terminal import HOUSE, PATIENCE, SLUICE, environment
from test_access import token
from test_operations import problem

pytestmark = pytest.mark.process

HERE = "127.0.0.1/32"


@pytest.fixture
def receiver():
    receiver = Receiver()
    yield receiver
    receiver.close()


def create(ledger, url, *words):
    """Creates a webhook. Returns its id and its secret."""
    made = json.loads(ledger.run("webhooks", "create", url, "--json", *words))
    return made["id"], made["secret"]


def submit(ledger, count=1, name="a"):
    """Submits files that do not exist. Returns the batch."""
    paths = [f"in:{name}/{number}.wav" for number in range(count)]
    return int(ledger.run("submit", *paths, "--to", "out:{dir}/{stem}.flac", "--quiet", "--again"))


def cancel(ledger, batch):
    ledger.run("cancel", "--batch", str(batch), "--yes")


def until(condition, within=PATIENCE):
    """Waits until a condition on the ledger holds, and returns its value."""
    end = time.monotonic() + within
    while not (value := condition()):
        assert time.monotonic() < end
        # A row that changes wakes no one.
        time.sleep(0.05)
    return value


def deliveries(ledger, *words):
    return [json.loads(line) for line in ledger.run("webhooks", "deliveries", "--json", *words).splitlines()]


def hurry(ledger):
    """Lets the time until the next attempt pass, and leases end."""
    ledger.query(
        "update sluice.webhook_delivery set due_at = clock_timestamp(), "
        "lease_until = case when lease is not null then clock_timestamp() end where outcome is null"
    )


def all_delivered(ledger):
    return not ledger.query("select 1 from sluice.webhook_delivery where outcome is distinct from 'delivered' limit 1")


def test_tells_the_end_of_a_batch_within_seconds(ledger, receiver):
    webhook, secret = create(ledger, receiver.url())
    with Coordinator(ledger, "--webhooks-to", HERE):
        def end_a_batch(number):
            ends.append(submit(ledger, 3, f"n{number}"))
            cancel(ledger, ends[-1])
            began = time.monotonic()
            receiver.wait(len(ends))
            return time.monotonic() - began

        ends = []
        # A sender that has not been told of webhooks looks after a minute.
        takes_less_than(40, end_a_batch)
        headers, body, event = receiver.got()[-1]
        batch = ends[-1]
        check(secret, headers, body)
        assert event["type"] == "batch.ended" and event["data"]["batch"] == batch
        assert event["data"]["jobs"] == {"completed": 0, "skipped": 0, "failed": 0, "accepted": 0, "cancelled": 3}
        # Ends again after a retry, as another event.
        ledger.run("retry", "--batch", str(batch), "--state", "cancelled", "--yes")
        cancel(ledger, batch)
        again = receiver.wait(2)[1][0]
        assert again["webhook-id"] != headers["webhook-id"]
        until(lambda: all_delivered(ledger))
    assert receiver.events() == ["batch.ended"] * 2
    [line] = [json.loads(line) for line in ledger.run("webhooks", "--json").splitlines()]
    assert (line["id"], line["waiting"], line["dead"], line["failures"]) == (webhook, 0, 0, 0)
    assert "deliveredAt" in line
    assert secret not in json.dumps(line) and secret not in ledger.run("audit", "--json")
    assert 'sluice_webhook_deliveries_total{outcome="delivered"} 2' in ledger.run("metrics")


def test_tells_of_a_batch_that_had_ended_before(ledger, receiver):
    first, second = submit(ledger), submit(ledger, name="b")
    cancel(ledger, first)
    create(ledger, receiver.url("/first"), "--batch", str(first))
    create(ledger, receiver.url("/second"), "--batch", str(second))
    with Coordinator(ledger, "--webhooks-to", HERE):
        assert receiver.wait(1, "/first")[0][2]["data"]["batch"] == first
        cancel(ledger, second)
        assert receiver.wait(1, "/second")[0][2]["data"]["batch"] == second
    assert len(receiver.got("/first")) == len(receiver.got("/second")) == 1


def test_the_documented_receiver_accepts_it_and_no_other(ledger, receiver):
    [code] = re.findall(r"```python\n(.*?)```", (HOUSE / "docs/webhooks.md").read_text(), re.DOTALL)
    names = {}
    exec(code, names)  # noqa: S102
    webhook, secret = create(ledger, receiver.url())
    with Coordinator(ledger, "--webhooks-to", HERE):
        ledger.run("webhooks", "test", str(webhook))
    [(headers, body, event)] = receiver.got()
    assert event["type"] == "webhook.test"
    assert names["event"](secret, headers, body) == event
    other = create(ledger, receiver.url())[1]
    late = {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) - 3600)}
    renamed = {**headers, "webhook-id": "msg_1"}
    for secret, headers, body in [
        (other, headers, body), (secret, late, body), (secret, renamed, body), (secret, headers, body + b" "),
        (secret, {**headers, "webhook-signature": "v1,"}, body),
    ]:
        with pytest.raises(ValueError):
            names["event"](secret, headers, body)


def test_the_calls_of_the_page_work(ledger, receiver):
    calls = re.findall(r"```sh\n(.*?)```", (HOUSE / "docs/webhooks.md").read_text(), re.DOTALL)
    assert len(calls) == 3
    (ledger.folder / "podcasts").mkdir()
    (ledger.folder / "podcasts/a.wav").touch()
    with Coordinator(ledger, "--webhooks-to", HERE):
        for call in calls:
            if "--dead" in call:
                ledger.query("update sluice.webhook_delivery set outcome = 'dead'")
            done = subprocess.run(
                ["sh", "-e", "-c", re.sub(r"https://example.com/\w+", receiver.url(), call)], cwd=ledger.folder,
                env=environment(**ledger.variables), capture_output=True, text=True
            )
            assert done.returncode == 0, done
        assert ledger.query("select count(*) from sluice.webhook_notice") == "1"
        headers, body, _ = receiver.wait(2)[0]
        check((ledger.folder / "webhook.secret").read_text().strip(), headers, body)


def test_sends_again_until_it_is_taken(ledger, receiver):
    receiver.answers["/"] = [500, 503, 200]
    _, secret = create(ledger, receiver.url())
    with Coordinator(ledger, "--webhooks-to", HERE):
        cancel(ledger, submit(ledger))
        for count in [1, 2]:
            receiver.wait(count)
            [one] = until(lambda: [d for d in deliveries(ledger) if d.get("status") == [500, 503][count - 1]])
            assert one["state"] == "waiting" and one["attempts"] == count
            hurry(ledger)
        found = receiver.wait(3)
        until(lambda: all_delivered(ledger))
    for headers, body, _ in found:
        check(secret, headers, body)
    assert len({headers["webhook-id"] for headers, _, _ in found}) == 1
    assert len({body for _, body, _ in found}) == 1


def test_gives_up_after_ten_attempts_and_can_be_told_to_go_on(ledger, receiver):
    receiver.answers["/"] = [500, 200]
    webhook, _ = create(ledger, receiver.url())
    receiver.answers["/gone"] = [410]
    gone, _ = create(ledger, receiver.url("/gone"), "--event", "batch.ended")
    batch = submit(ledger)
    # Nine attempts have failed. The first one has its row when the batch has ended.
    with Coordinator(ledger):
        cancel(ledger, batch)
        until(lambda: [d for d in deliveries(ledger) if d.get("error")])
        assert "webhooks may not go" in deliveries(ledger)[0]["error"]
    ledger.query("update sluice.webhook_delivery set attempts = 9")
    ledger.query("update sluice.webhook set failures = 0")
    hurry(ledger)
    with Coordinator(ledger, "--webhooks-to", HERE) as api:
        until(lambda: len(deliveries(ledger, "--dead")) == 2)
        until(lambda: api.said().count('"undeliverable"') == 2)
        dead = {d["webhook"]: d["status"] for d in deliveries(ledger, "--dead")}
        assert dead == {webhook: 500, gone: 410}
        assert 'sluice_webhook_deliveries_total{outcome="dead"} 2' in ledger.run("metrics")
        ledger.run("webhooks", "retry", str(webhook))
        [one] = until(lambda: [d for d in deliveries(ledger) if d["state"] == "delivered"])
        assert one["webhook"] == webhook and one["attempts"] == 1
    first, second = receiver.got()
    assert first[0]["webhook-id"] == second[0]["webhook-id"]


def test_slow_and_false_receivers_hold_up_no_other(ledger, receiver):
    """An answer of any length counts by its status."""
    ends = []

    def hang(handler):
        # Longer than a sender waits.
        time.sleep(20)
        handler.reply(200)

    def endless(handler):
        handler.send_response(200)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(bytes(1 << 16))
        except OSError:
            ends.append(handler.path)

    receiver.answers["/hang"] = hang
    receiver.answers["/endless"] = endless
    receiver.answers["/redirect"] = lambda handler: handler.reply(302, location=receiver.url("/secret"))
    for path in ["/hang", "/endless", "/redirect", "/good"]:
        create(ledger, receiver.url(path), "--event", "batch.ended")
    create(ledger, "http://127.0.0.1:1/closed", "--event", "batch.ended")
    with Coordinator(ledger, "--webhooks-to", HERE):
        for number in range(6):
            cancel(ledger, submit(ledger, name=f"n{number}"))
        receiver.wait(6, "/good")
        hanging = len(receiver.got("/hang"))
        # Unless the sender had given up the first ones that hang.
        assert hanging <= 4 or any(d["webhook"] == 1 and d.get("error") for d in deliveries(ledger))
        problems = until(lambda: (found := {d["webhook"]: d["error"] for d in deliveries(ledger) if d.get("error")})
                         and len(found) == 3 and found)
        until(lambda: any(d["webhook"] == 2 and d["state"] == "delivered" for d in deliveries(ledger)))
    assert problems == {
        1: "no answer in time",
        3: "the answer is a redirect, which is not followed", 5: "nothing answers at that address",
    }
    # Four at a time, and one while it fails: the rest waits.
    assert ends and receiver.got("/secret") == [] and len(receiver.got("/hang")) <= 5


def test_receivers_just_within_their_time_take_no_place_from_others(ledger, receiver):
    """A submitter may have many webhooks. Together they have a third of the places."""
    others_are_served = threading.Event()

    def answer_late(handler):
        # It answers in the end, and counts as one that takes everything.
        others_are_served.wait(PATIENCE)
        handler.reply(200)

    receiver.answers["/late"] = answer_late
    late = [create(ledger, receiver.url("/late"), "--event", "batch.ended")[0] for _ in range(6)]
    good, _ = create(ledger, receiver.url("/good"), "--event", "batch.ended")
    ledger.query(f"update sluice.webhook set submitter = 'token:late' where id <> {good}")
    test = "select sluice.test_webhook({}, gen_random_uuid()) from generate_series(1, 4)"
    for webhook in late:
        ledger.query(test.format(webhook))
    with Coordinator(ledger, "--webhooks-to", HERE):
        receiver.wait(4, "/late")
        ledger.query(test.format(good))
        receiver.wait(4, "/good")
        waiting = len(receiver.got("/late"))
        # Unless a busy machine took so long that the sender has given up some.
        assert waiting == 4 or any(d.get("error") for d in deliveries(ledger))
        others_are_served.set()


@pytest.mark.parametrize("host", [
    "127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "127.1", "0.0.0.0",
])
def test_sends_nothing_to_this_machine(ledger, receiver, host):
    create(ledger, f"http://{host}:{receiver.port}/")
    with Coordinator(ledger):
        cancel(ledger, submit(ledger))
        [one] = until(lambda: [d for d in deliveries(ledger) if d.get("error")])
    # The address that a name has is not told.
    assert one["error"] == "webhooks may not go to the address of this host"
    assert receiver.got() == []


@pytest.mark.parametrize("host", ["169.254.169.254", "10.0.0.1", "192.168.1.1", "[fd00::1]", "[fe80::1]", "224.0.0.1"])
def test_sends_nothing_into_private_networks(ledger, host):
    create(ledger, f"http://{host}/latest/meta-data/")
    # Permitting one address permits no other.
    with Coordinator(ledger, "--webhooks-to", HERE, "--webhooks-to", "10.0.0.2"):
        cancel(ledger, submit(ledger))
        [one] = until(lambda: [d for d in deliveries(ledger) if d.get("error")])
    assert one["error"] == "webhooks may not go to the address of this host"


def kill(coordinator):
    coordinator.process.send_signal(signal.SIGKILL)
    coordinator.process.wait(PATIENCE)


def start(ledger, *words):
    api = CoordinatorProcess(ledger, *words)
    return api.__enter__()


def test_a_coordinator_that_dies_loses_no_delivery(ledger, receiver):
    """Once with a request on its way, and once between the answer and its record."""
    holder = []

    def hold(handler):
        # The record of the answer needs this row.
        holder.append(ledger.hold("select from sluice.webhook for update"))
        handler.reply(200)

    def hang(handler):
        # Until the client is gone.
        handler.rfile.read(1)

    _, secret = create(ledger, receiver.url())
    receiver.answers["/"] = hang
    api = start(ledger, "--webhooks-to", HERE)
    cancel(ledger, submit(ledger))
    receiver.wait(1)
    kill(api)
    hurry(ledger)
    receiver.answers["/"] = hold
    api = start(ledger, "--webhooks-to", HERE)
    receiver.wait(2)
    # The answer has arrived, and its record waits for the row.
    until(lambda: ledger.query(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%record_delivery%'"))
    kill(api)
    # The server notices the end of a client when it answers.
    ledger.query("select pg_terminate_backend(pid, 5000) from pg_stat_activity where query like '%record_delivery%' "
                 "and pid <> pg_backend_pid()")
    holder[0].stdin.close()
    holder[0].wait(PATIENCE)
    hurry(ledger)
    receiver.answers["/"] = [200]
    with Coordinator(ledger, "--webhooks-to", HERE):
        found = receiver.wait(3)
        until(lambda: all_delivered(ledger))
    for headers, body, _ in found:
        check(secret, headers, body)
    assert len({headers["webhook-id"] for headers, _, _ in found}) == 1
    [one] = deliveries(ledger)
    assert (one["state"], one["attempts"], one["message"]) == ("delivered", 3, found[0][0]["webhook-id"])


def test_two_coordinators_send_each_event_once(ledger, receiver):
    create(ledger, receiver.url("/all"), "--event", "batch.ended")
    create(ledger, receiver.url("/own"), "--own")
    with Coordinator(ledger, "--webhooks-to", HERE), Coordinator(ledger, "--webhooks-to", HERE):
        batches = [submit(ledger, name=f"n{number}") for number in range(20)]
        for batch in batches:
            cancel(ledger, batch)
        for path in ["/all", "/own"]:
            receiver.wait(20, path)
        until(lambda: all_delivered(ledger))
    for path in ["/all", "/own"]:
        found = receiver.got(path)
        assert sorted(event["data"]["batch"] for _, _, event in found) == batches
        assert set(collections.Counter(headers["webhook-id"] for headers, _, _ in found).values()) == {1}
    assert ledger.query("select count(*), sum(attempts) from sluice.webhook_delivery") == "40|40"


def test_tells_that_a_worker_is_lost(ledger, receiver):
    # No worker that a busy machine holds up loses it.
    ledger.query("update sluice.setting set lease = '600 s'")
    create(ledger, receiver.url(), "--event", "worker.lost")
    with Coordinator(ledger, "--webhooks-to", HERE):
        worker = ledger.start("worker", "--root", f"in={ledger.folder}", "--slots", "1", "--name", "pump-7")
        until(lambda: ledger.query("select 1 from sluice.worker"))
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait(PATIENCE)
        # As if its lease had ended, and the housekeeping had seen it run.
        until(lambda: ledger.query("select 1 from sluice.house where tick_at > '-infinity'"))
        ledger.query("update sluice.worker set lease_until = clock_timestamp(); update sluice.house set quiet_until = '-infinity'")
        [(_, _, event)] = receiver.wait(1)
        # One that ends by itself is not lost.
        other = ledger.start("worker", "--root", f"in={ledger.folder}", "--slots", "1", "--name", "pump-8")
        until(lambda: ledger.query("select 1 from sluice.worker where name = 'pump-8'"))
        other.terminate()
        assert other.wait(PATIENCE) == 0
        until(lambda: ledger.query("select 1 from sluice.worker where name = 'pump-8' and ended_at is not null"))
        cancel(ledger, submit(ledger))
    assert event["type"] == "worker.lost" and event["data"]["name"] == "pump-7"
    assert receiver.events() == ["worker.lost"]


def test_tells_when_too_many_jobs_fail(ledger, receiver, tmp_path):
    for folder in ["in", "out"]:
        (tmp_path / folder).mkdir()
    for number in range(25):
        (tmp_path / f"in/{number}.wav").write_bytes(b"no sound at all")
    roots = ["--root", f"in={tmp_path}/in", "--root", f"out={tmp_path}/out"]
    create(ledger, receiver.url("/high"), "--event", "failures.high", "--failures", "50")
    paths = [f"in:{number}.wav" for number in range(25)]
    batch = ledger.run("submit", *paths, "--to", "out:{stem}.flac", "--quiet").strip()
    create(ledger, receiver.url("/batch"), "--batch", batch)
    with Coordinator(ledger, "--webhooks-to", HERE):
        worker = ledger.start("worker", *roots, "--slots", "1")
        [(_, _, event)] = receiver.wait(1, "/high")
        receiver.wait(2, "/batch")
        worker.terminate()
        assert worker.wait(PATIENCE) == 0
        until(lambda: all_delivered(ledger))
    assert event["data"]["batch"] is None and event["data"]["failed"] >= 20 and event["data"]["percent"] == 100
    assert receiver.events("/high") == ["failures.high"]
    assert sorted(receiver.events("/batch")) == ["batch.ended", "failures.high"]
    [ended] = [event for _, _, event in receiver.got("/batch") if event["type"] == "batch.ended"]
    assert ended["data"]["jobs"]["failed"] == 25


def test_tells_when_the_ledger_works_again(receiver, tmp_path):
    server = Server()
    try:
        ledger = server.empty_ledger(tmp_path)
        create(ledger, receiver.url(), "--event", "ledger.recovered")
        with Coordinator(ledger, "--webhooks-to", HERE) as api:
            until(lambda: ledger.query("select 1 from sluice.house where tick_at > '-infinity'"))
            # A tick is not flushed when it commits: the server that stops at once must not lose the only one.
            server.query("checkpoint")
            server.stop()
            until(lambda: '"ledger_away"' in api.said())
            # Another start of the server shows the outage, however short it was.
            server.start()
            [(_, _, event)] = receiver.wait(1)
            until(lambda: all_delivered(ledger))
        assert event["type"] == "ledger.recovered"
        assert event["data"]["stoodSince"] < event["data"]["resumedAt"]
        # A busy machine may have had another one.
        assert set(receiver.events()) == {"ledger.recovered"}
    finally:
        server.stop()


def test_a_coordinator_without_the_role_says_so_and_goes_on(server, ledger, receiver):
    name = f"worker_{os.urandom(4).hex()}"
    server.query(f"create role {name} login in role sluice_worker")
    create(ledger, receiver.url())
    url = server.url.format(ledger.name).replace("postgres@", f"{name}@")
    with open(tmp := ledger.folder / "coordinator.log", "wb") as log:
        process = subprocess.Popen(
            [str(SLUICE), "coordinator", "--webhooks-to", HERE], cwd=ledger.folder,
            env=environment(SLUICE_DATABASE_URL=url), stdout=log, stderr=log
        )
    try:
        cancel(ledger, submit(ledger))
        until(lambda: '"sends_no_webhooks"' in tmp.read_text())
        until(lambda: deliveries(ledger))
        assert receiver.got() == [] and tmp.read_text().count('"sends_no_webhooks"') == 1
    finally:
        process.terminate()
        assert process.wait(PATIENCE) == 0


def test_owners_see_their_own_webhooks_only(server, ledger, receiver):
    logins = {}
    for role in ["viewer", "submitter", "submitter", "operator"]:
        name = f"{role}_{os.urandom(4).hex()}"
        server.query(f"create role {name} login in role sluice_{role}")
        logins.setdefault(role, []).append(server.url.format(ledger.name).replace("postgres@", f"{name}@"))

    def run(url, *words):
        return subprocess.run([str(SLUICE), *words], cwd=ledger.folder, env=environment(SLUICE_DATABASE_URL=url),
                              capture_output=True, text=True)

    [viewer], [one, other], [operator] = logins["viewer"], logins["submitter"], logins["operator"]
    assert run(viewer, "webhooks", "create", receiver.url()).returncode == 6
    assert run(viewer, "webhooks").returncode == 6
    refused = run(one, "webhooks", "create", receiver.url())
    assert refused.returncode == 6 and "--own" in refused.stderr
    assert run(one, "webhooks", "create", receiver.url(), "--own").returncode == 0
    assert run(operator, "webhooks", "create", receiver.url()).returncode == 0
    ids = {url: run(url, "webhooks", "-q").stdout.split() for url in [one, other, operator]}
    assert [len(ids[url]) for url in [one, other, operator]] == [1, 0, 2]
    mine = ids[one][0]
    assert run(other, "webhooks", "remove", mine).returncode == 4
    assert run(other, "webhooks", "test", mine).returncode == 4
    batch = run(one, "submit", "in:x.wav", "--to", "out:x.flac", "-q").stdout.strip()
    assert run(other, "webhooks", "create", receiver.url(), "--batch", batch).returncode == 6
    assert run(one, "webhooks", "remove", mine).returncode == 0
    assert run(operator, "webhooks", "-q").stdout.split() == [i for i in ids[operator] if i != mine]


def test_a_busy_batch_holds_up_no_other(ledger, tmp_path):
    create(ledger, "https://example.com/")
    for name in ["ended", "busy"]:
        (tmp_path / f"{name}.wav").touch()
    ledger.run("submit", "ended.wav", "--to", "{stem}.flac")
    ledger.run("cancel", "--all", "--yes")
    ledger.query("select sluice.fold_counts(1000)")
    ledger.query("delete from sluice.batch_news")
    ledger.run("submit", "busy.wav", "--to", "{stem}.flac")
    ledger.query("insert into sluice.batch_news (batch) values (2), (1)")
    assert ledger.query("select sluice.find_ended_batches(1)") == "1"
    assert ledger.query("select body::json #>> '{data,batch}' from sluice.webhook_event") == "1"
    assert ledger.query("select batch from sluice.batch_news") == "2"


def test_a_tenant_gets_its_own_webhooks_and_reaches_nothing_inside(ledger, receiver):
    """Over HTTP, with a coordinator that permits an address inside for the webhooks of operators."""
    for name in ["acme", "zenith"]:
        ledger.run("tenants", "create", name)
    acme = token(ledger, "submitter", "--tenant", "acme", name="acme-1")
    zenith = token(ledger, "submitter", "--tenant", "zenith", name="zenith-1")
    boss = token(ledger, "operator")
    with Coordinator(ledger, "--webhooks-to", HERE) as api:
        hooks = "/api/v1/webhooks"
        refused = api.post(hooks, {"url": receiver.url()}, headers=acme)
        assert refused.status_code == 403, refused.text
        for wish in [{"tenant": "zenith"}, {"own": True, "tenant": "acme"}, {"own": True, "events": ["worker.lost"]}]:
            assert api.post(hooks, {"url": receiver.url(), **wish}, headers=acme).status_code in [400, 403, 422], wish
        made = api.post(hooks, {"url": receiver.url(), "own": True}, headers=acme)
        assert made.status_code == 201 and made.json()["secret"].startswith("whsec_")
        path = f"{hooks}/{made.json()['id']}"
        assert api.get(hooks, headers=zenith) == {"webhooks": []}
        for method, where in [("DELETE", path), ("POST", f"{path}/test"), ("POST", f"{path}/retry"),
                              ("GET", f"/api/v1/deliveries?webhook={made.json()['id']}")]:
            assert api.ask(method, where, headers=zenith).status_code == 404, where
        # The coordinator's operators may send there, and the tenant may not.
        own = api.post(hooks, {"url": receiver.url(), "tenant": "acme"}, headers=boss).json()
        # Names of tenants have more letters than those of queues.
        ledger.run("tenants", "create", "a@b")
        wish = {"url": receiver.url("/b"), "tenant": "a@b"}
        assert api.post(hooks, wish, headers=boss).status_code == 201
        assert api.ask("POST", f"{path}/test", headers=acme).status_code == 202
        begun = api.ask("POST", f"{hooks}/{own['id']}/test", headers=boss).json()
        [(headers, body, event)] = receiver.wait(1)
        check(own["secret"], headers, body)
        assert event["data"]["webhook"] == own["id"]
        until(lambda: api.get("/api/v1/deliveries?state=delivered", headers=boss)["deliveries"])
        [delivered] = api.get("/api/v1/deliveries?state=delivered", headers=boss)["deliveries"]
        assert delivered["id"] == begun["delivery"] and delivered["status"] == 200
        until(lambda: api.get(f"/api/v1/deliveries?webhook={made.json()['id']}", headers=acme)["deliveries"][0].get("error"))
        [failed] = api.get(f"/api/v1/deliveries?webhook={made.json()['id']}", headers=acme)["deliveries"]
        # As of a name without an address.
        assert failed["error"] == "this host has no address to which webhooks may go"
        assert api.ask("DELETE", path, headers=acme).json()["url"] == receiver.url()
        assert [one["id"] for one in api.get(hooks, headers=acme)["webhooks"]] == [own["id"]]


def test_what_does_not_exist_has_one_exit_code(ledger, receiver):
    def code(*words):
        done = subprocess.run([str(SLUICE), *words], cwd=ledger.folder, env=environment(**ledger.variables),
                              capture_output=True, text=True)
        assert "nobody" in done.stderr, done.stderr
        return done.returncode

    job = ["submit", "in:a.wav", "--to", "out:a.flac", "--notify", "nobody"]
    assert code(*job, "--dry-run") == code(*job) == 4
    assert code("tokens", "create", "--role", "viewer", "--name", "x", "--tenant", "nobody") == 4
    assert code("webhooks", "create", receiver.url(), "--tenant", "nobody") == 4
    assert code("webhooks", "create", receiver.url(), "--queue", "nobody") == 4
    assert ledger.run("webhooks", "--quiet") == ledger.run("tokens", "--quiet") == ""
    ledger.run("tenants", "create", "nobody")
    create(ledger, receiver.url(), "--tenant", "nobody")


def test_a_submission_names_whom_to_tell(ledger, receiver):
    """By the command, directly and over HTTP, and by the API."""
    studio, secret = create(ledger, receiver.url("/studio"), "--name", "studio", "--on-notify")
    mine, _ = create(ledger, receiver.url("/own"), "--name", "mine", "--own", "--on-notify")
    words = ["--to", "out:{dir}/{stem}.flac", "--quiet", "--again"]
    with Coordinator(ledger, "--webhooks-to", HERE, "--open-role", "submitter") as api:
        direct = int(ledger.run("submit", "in:a.wav", *words, "--notify", "studio", "--notify", "mine"))
        url = f"http://127.0.0.1:{api.port}"
        # Without a token the caller is another, whose own webhook is none of these.
        over = int(ledger.run("submit", "in:b.wav", "in:c.wav", *words, "--notify", str(studio), SLUICE_URL=url))
        asked = {"jobs": [{"source": "in:d.wav", "output": "out:d.flac"}], "notify": ["studio"]}
        answer = api.post("/api/v1/batches", asked)
        assert answer.status_code == 201, answer.text
        line = '{"source": "in:e.wav", "output": "out:e.flac"}\n'
        streamed = api.ask("POST", "/api/v1/batches?notify=studio", content=line,
                            headers={"Content-Type": "application/x-ndjson"})
        assert streamed.status_code == 201, streamed.text
        for notify in ["nobody"], ["mine"], [str(mine)], ["studio", "nobody"]:
            refused = api.post("/api/v1/batches", {**asked, "notify": notify})
            assert refused.status_code == 422 and notify[-1] in refused.text, refused.text
        for wrong in "studio", [1], [""], ["studio"] * 11:
            problem(api.post("/api/v1/batches", {**asked, "notify": wrong}), 400, "bad_body")
        unnamed = submit(ledger, name="z")
        # What a submitter may name, it sees without the path; and no other.
        [seen] = api.get("/api/v1/webhooks")["webhooks"]
        assert (seen["name"], seen["onNotify"], seen["url"]) == ("studio", True, receiver.url("").rstrip("/"))
        ledger.run("cancel", "--all", "--yes")
        told = {event["data"]["batch"] for headers, body, event in receiver.wait(4, "/studio")}
        assert told == {direct, over, answer.json()["batch"], streamed.json()["batch"]}
        check(secret, *receiver.got("/studio")[0][:2])
        assert receiver.wait(1, "/own")[0][2]["data"]["batch"] == direct
        until(lambda: all_delivered(ledger))
        assert unnamed not in told and len(receiver.got("/studio")) == 4 and len(receiver.got("/own")) == 1


def test_a_batch_with_the_highest_number_is_refused_like_any_other_that_is_not_there(ledger):
    with Coordinator(ledger, "--open-role", "operator") as api:
        for batch in [7, 2**63 - 1]:
            answer = api.ask("POST", "/api/v1/webhooks", json={"url": "https://example.com/", "batch": batch})
            assert f"there is no batch {batch}" in problem(answer, 422, "ledger_refused")["detail"]
