"""Server-sent events."""

import http.client
import json
import socket
import struct
import threading
import time

import pytest

from coordinators import Coordinator
from terminal import PATIENCE
from test_operations import jobs, problem


class Stream:
    """One subscriber."""

    def __init__(self, api, query, headers={}):
        self.connection = http.client.HTTPConnection("127.0.0.1", api.port, timeout=PATIENCE)
        self.connection.request("GET", f"/api/v1/events?{query}", headers=headers)
        self.answer = self.connection.getresponse()
        assert self.answer.status == 200, self.answer.read()

    def next(self):
        """The name and the value of the next event."""
        fields = {}
        while line := self.answer.readline().decode():
            name, _, value = line.rstrip("\n").partition(": ")
            if line != "\n":
                fields[name] = value
            elif "data" in fields:
                return fields["event"], json.loads(fields["data"])
        raise EOFError

    def until(self, condition):
        while True:
            name, value = self.next()
            if condition(value):
                return name, value

    def close(self):
        self.connection.close()


def test_tells_the_state_and_what_changes(api):
    receipt = api.post("/api/v1/batches", {"jobs": jobs(2)}).json()
    stream = Stream(api, f"batch={receipt['batch']}&job={receipt['firstJob']}&queues=true")
    head = stream.answer.headers
    assert (head["content-type"], head["cache-control"]) == ("text/event-stream", "no-store")
    first = [stream.next() for _ in range(3)]
    assert sorted(name for name, _ in first) == ["batch", "job", "queue"]
    assert next(value for name, value in first if name == "batch") == api.get(f"/api/v1/batches/{receipt['batch']}")
    api.post("/api/v1/changes", {"change": "cancel", "filter": {"batch": receipt["batch"]}})
    _, batch = stream.until(lambda value: value.get("isDone"))
    assert batch["jobs"]["cancelled"] == 2
    stream.close()


def test_tells_of_a_queue_what_changes_no_count(api, operator):
    api.post("/api/v1/batches", {"jobs": jobs(1)})
    stream = Stream(api, "queues=true")
    stream.until(lambda value: value["jobs"]["waiting"] == 1)
    for change, field in [({"isPaused": True}, "isPaused"), ({"runningLimit": 3}, "runningLimit"), ({"weight": 7}, "weight")]:
        assert operator.post("/api/v1/queues/default", change).status_code == 200
        name, state = stream.next()
        assert (name, state["queue"], state[field]) == ("queue", "default", change[field]), state
    stream.close()


@pytest.mark.process
def test_queues_at_rest_cost_the_ledger_one_look_a_second(ledger):
    database = ledger.query("select current_database()")
    ledger.query(f"alter database \"{database}\" set track_functions = 'all'")

    def looks():
        return int(ledger.query("select coalesce(sum(calls), 0) from pg_stat_user_functions where funcname = 'counts'"))

    with Coordinator(ledger, "--open-role", "viewer") as api:
        stream = Stream(api, "queues=true")
        stream.next()
        costs = []
        # A busy machine may delay the looks, or the measurement.
        while not costs or not 0.5 < costs[-1] < 1.4:
            assert len(costs) < 5, costs
            # The server adds a look to its statistics up to a second later.
            time.sleep(2)
            start, before = time.monotonic(), looks()
            # The rate is what is measured.
            time.sleep(6)
            costs.append((looks() - before) / (time.monotonic() - start))
        stream.close()


def test_tells_nothing_twice(api):
    receipt = api.post("/api/v1/batches", {"jobs": jobs(2)}).json()
    stream = Stream(api, f"job={receipt['firstJob']}&batch={receipt['batch']}")
    assert sorted(stream.next()[0] for _ in range(2)) == ["batch", "job"]
    # Several rounds, in which nothing changes for this subscriber and something does for another.
    other = Stream(api, "queues=true")
    for number in range(2):
        api.post("/api/v1/batches", {"jobs": jobs(1, f"other{number}")})
        other.until(lambda queue: queue["jobs"]["waiting"] == 3 + number)
    other.close()
    api.post("/api/v1/changes", {"change": "cancel", "filter": {"id": [receipt["firstJob"]]}})
    _, state = stream.next()
    assert state.get("state") == "cancelled" or state["jobs"]["cancelled"] == 1, state
    stream.close()


def test_a_subscriber_continues_at_another_coordinator(api, operator):
    receipt = api.post("/api/v1/batches", {"jobs": jobs(1)}).json()
    query = f"batch={receipt['batch']}"
    stream = Stream(api, query)
    stream.until(lambda value: value["jobs"]["waiting"] == 1)
    stream.close()
    api.post("/api/v1/changes", {"change": "cancel", "filter": {"batch": receipt["batch"]}})
    other = Stream(operator, query)
    assert other.next()[1]["isDone"]
    other.close()


def test_asks_the_ledger_no_more_for_many_subscribers(api, ledger):
    receipt = api.post("/api/v1/batches", {"jobs": jobs(1)}).json()

    def calls(streams):
        for stream in streams:
            stream.next()
        start = time.monotonic()
        before = int(ledger.query("select xact_commit from pg_stat_database where datname = current_database()"))
        # The rate is what is measured.
        time.sleep(3)
        after = int(ledger.query("select xact_commit from pg_stat_database where datname = current_database()"))
        return (after - before) / (time.monotonic() - start)

    few = [Stream(api, f"batch={receipt['batch']}") for _ in range(2)]
    alone = calls(few)
    many = [Stream(api, f"batch={receipt['batch']}") for _ in range(200)]
    together = calls(many)
    for stream in [*few, *many]:
        stream.close()
    assert together < 2 * alone + 8, (alone, together)


def test_a_slow_reader_costs_no_memory_and_learns_what_it_missed(api):
    receipt = api.post("/api/v1/batches", {"jobs": jobs(200)}).json()
    ids = ",".join(str(number) for number in range(receipt["firstJob"], receipt["firstJob"] + 200))
    stream, other = Stream(api, f"job={ids}&batch={receipt['batch']}"), Stream(api, f"batch={receipt['batch']}")
    # Several rounds, while nothing is read.
    for number in range(1, 5):
        api.post("/api/v1/changes", {"change": "cancel", "filter": {"id": [receipt["firstJob"] + number]}})
        # One round of events.
        other.until(lambda batch: batch["jobs"]["cancelled"] == number)
    other.close()
    _, batch = stream.until(lambda value: value.get("jobs", {}).get("cancelled") == 4)
    assert batch["jobs"]["waiting"] == 196
    stream.close()


def test_ends_when_the_coordinator_stops(ledger):
    with Coordinator(ledger, "--open-role", "viewer") as api:
        streams = [Stream(api, "queues=true") for _ in range(20)]
        for stream in streams:
            stream.next()
        ended = []

        def wait(stream):
            try:
                while True:
                    stream.next()
            except (EOFError, ConnectionError, http.client.IncompleteRead):
                ended.append(stream)

        threads = [threading.Thread(target=wait, args=[stream]) for stream in streams]
        for thread in threads:
            thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(ended) == 20


def test_subscribers_that_leave_before_the_answer_keep_no_place(api):
    # More than one caller may have, if each kept its place.
    for _ in range(30):
        streams = [socket.create_connection(("127.0.0.1", api.port)) for _ in range(100)]
        for stream in streams:
            stream.sendall(b"GET /api/v1/events?queues=true HTTP/1.1\r\nHost: localhost\r\n\r\n")
        for stream in streams:
            # Closing then resets the connection, which the server notices at once.
            stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            stream.close()
    taken = [Stream(api, "queues=true") for _ in range(900)]
    for stream in taken:
        stream.close()


def test_one_caller_does_not_take_all_places(api):
    taken = [Stream(api, "queues=true") for _ in range(1_000)]
    problem(api.ask("GET", "/api/v1/events?queues=true"), 503, "overloaded")
    for stream in taken:
        stream.close()


def test_head_gets_the_header_and_nothing_else(api):
    with api.connect() as connection:
        connection.sendall(b"HEAD /api/v1/events?queues=true HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    header, _, body = answer.partition(b"\r\n\r\n")
    assert header.startswith(b"HTTP/1.1 200") and b"text/event-stream" in header, answer
    assert body == b"" and b"etag" not in header.lower(), answer


def test_refuses_what_it_cannot_tell(api):
    problem(api.ask("GET", "/api/v1/events"), 400, "bad_parameter")
    problem(api.ask("GET", "/api/v1/events?batch=x"), 400, "bad_parameter")


def queues(ledger, count):
    """Makes queues with long names."""
    ledger.query(
        f"select count(sluice.queue_for('{'q' * 50}-' || n)) from generate_series(1, {count}) n",
    )


def test_many_queues_are_told_once_and_then_what_changes(api, ledger):
    queues(ledger, 400)
    stream = Stream(api, "queues=true")
    seen, size = [], 0
    while len(seen) < 400:
        name, value = stream.next()
        assert name == "queue", name
        seen.append(value["queue"])
        size += len(json.dumps(value))
    # More than a subscriber's share of memory.
    assert size > 64 * 1024 and len(set(seen)) == len(seen)
    known = set(seen)
    while known != {queue["queue"] for queue in api.get("/api/v1/queues")["queues"]}:
        known.add(stream.next()[1]["queue"])
    # Now one changes, and only that one is told.
    receipt = api.post("/api/v1/batches", {"queue": seen[5], "jobs": jobs(3)}).json()
    name, value = stream.next()
    assert (name, value["queue"], value["jobs"]["waiting"]) == ("queue", seen[5], 3)
    api.post("/api/v1/changes", {"change": "cancel", "filter": {"batch": receipt["batch"]}})
    _, value = stream.until(lambda value: value["jobs"]["waiting"] == 0)
    assert value["queue"] == seen[5]
    stream.close()


def test_a_slow_reader_of_many_queues_gets_the_newest_state_of_each(api, ledger):
    queues(ledger, 400)
    stream, other = Stream(api, "queues=true"), Stream(api, "queues=true")
    names = [f"{'q' * 50}-{number}" for number in range(1, 401, 100)]
    for count, name in enumerate(names, start=1):
        api.post("/api/v1/batches", {"queue": name, "jobs": jobs(count, name)})
        # Some rounds, while the first one reads nothing.
        other.until(lambda queue: (queue["queue"], queue["jobs"]["waiting"]) == (name, count))
    other.close()
    last = {}
    while [last.get(name) for name in names] != list(range(1, 5)):
        event, value = stream.next()
        assert event == "queue", event
        last[value["queue"]] = value["jobs"]["waiting"]
    stream.close()
