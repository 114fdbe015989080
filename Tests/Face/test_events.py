"""Server-sent events."""

import http.client
import json
import threading
import time

from coordinators import Coordinator
from terminal import PATIENCE
from test_operations import jobs, problem


class Stream:
    """One subscriber."""

    def __init__(self, face, query):
        self.connection = http.client.HTTPConnection("127.0.0.1", face.port, timeout=PATIENCE)
        self.connection.request("GET", f"/api/v1/events?{query}")
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


def test_tells_the_state_and_what_changes(face):
    receipt = face.post("/api/v1/batches", {"jobs": jobs(2)}).json()
    stream = Stream(face, f"batch={receipt['batch']}&job={receipt['firstJob']}&queues=true")
    head = stream.answer.headers
    assert (head["content-type"], head["cache-control"]) == ("text/event-stream", "no-store")
    first = [stream.next() for _ in range(3)]
    assert sorted(name for name, _ in first) == ["batch", "job", "queue"]
    assert next(value for name, value in first if name == "batch") == face.get(f"/api/v1/batches/{receipt['batch']}")
    face.post("/api/v1/changes", {"change": "cancel", "filter": {"batch": receipt["batch"]}})
    _, batch = stream.until(lambda value: value.get("isDone"))
    assert batch["jobs"]["cancelled"] == 2
    stream.close()


def test_tells_nothing_twice(face):
    receipt = face.post("/api/v1/batches", {"jobs": jobs(2)}).json()
    stream = Stream(face, f"job={receipt['firstJob']}&batch={receipt['batch']}")
    assert sorted(stream.next()[0] for _ in range(2)) == ["batch", "job"]
    # Several rounds, in which nothing changes for this subscriber and something does for others.
    for number in range(3):
        face.post("/api/v1/batches", {"jobs": jobs(1, f"other{number}")})
        # Longer than a round.
        time.sleep(1.2)
    face.post("/api/v1/changes", {"change": "cancel", "filter": {"id": [receipt["firstJob"]]}})
    _, state = stream.next()
    assert state.get("state") == "cancelled" or state["jobs"]["cancelled"] == 1, state
    stream.close()


def test_a_subscriber_continues_at_another_coordinator(face, operator):
    receipt = face.post("/api/v1/batches", {"jobs": jobs(1)}).json()
    query = f"batch={receipt['batch']}"
    stream = Stream(face, query)
    stream.until(lambda value: value["jobs"]["waiting"] == 1)
    stream.close()
    face.post("/api/v1/changes", {"change": "cancel", "filter": {"batch": receipt["batch"]}})
    other = Stream(operator, query)
    assert other.next()[1]["isDone"]
    other.close()


def test_asks_the_ledger_no_more_for_many_subscribers(face, ledger):
    receipt = face.post("/api/v1/batches", {"jobs": jobs(1)}).json()

    def calls(streams):
        for stream in streams:
            stream.next()
        before = int(ledger.query("select xact_commit from pg_stat_database where datname = current_database()"))
        # The rate is what is measured.
        time.sleep(5)
        after = int(ledger.query("select xact_commit from pg_stat_database where datname = current_database()"))
        return after - before

    few = [Stream(face, f"batch={receipt['batch']}") for _ in range(2)]
    alone = calls(few)
    many = [Stream(face, f"batch={receipt['batch']}") for _ in range(200)]
    together = calls(many)
    for stream in [*few, *many]:
        stream.close()
    assert together < 2 * alone + 40, (alone, together)


def test_a_slow_reader_costs_no_memory_and_learns_what_it_missed(face):
    receipt = face.post("/api/v1/batches", {"jobs": jobs(200)}).json()
    ids = ",".join(str(number) for number in range(receipt["firstJob"], receipt["firstJob"] + 200))
    stream = Stream(face, f"job={ids}&batch={receipt['batch']}")
    # More than the connection and the ring hold, while nothing is read.
    for priority in range(1, 12):
        face.post("/api/v1/changes", {"change": "cancel", "filter": {"id": [receipt["firstJob"] + priority]}})
        # One round of events.
        time.sleep(0.3)
    _, batch = stream.until(lambda value: value.get("jobs", {}).get("cancelled") == 11)
    assert batch["jobs"]["waiting"] == 189
    stream.close()


def test_ends_when_the_coordinator_stops(ledger):
    with Coordinator(ledger, "--open-role", "viewer") as face:
        streams = [Stream(face, "queues=true") for _ in range(20)]
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


def test_refuses_what_it_cannot_tell(face):
    problem(face.ask("GET", "/api/v1/events"), 400, "bad_parameter")
    problem(face.ask("GET", "/api/v1/events?batch=x"), 400, "bad_parameter")
