"""Measures how long awa takes to process jobs that were queued beforehand.

    drain.py URL --server 4711 --jobs 50000 --workers 200 --stripes 1 --processes 2

Its schema is made anew by its own migrations, and the jobs are put in by its COPY before the clock starts. Each process
is a separate client whose task does nothing. The clock starts when all are connected and stops when the last task has
run: awa records the completion a moment later, and that moment is not counted. Afterwards the program checks that awa
counts every job as completed. Prints one line of JSON: wall-clock seconds and processor seconds, of the workers and of
the server whose first process is named.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import time
from dataclasses import dataclass

import awa

# awa moves completions into done_entries every few seconds, and counts the rows that it prunes from there.
ENDED = """
    select (select count(*) from awa.done_entries where state = 'completed')
         + (select coalesce(sum(pruned_completed_count), 0) from awa.queue_terminal_rollups)::bigint as jobs
"""


@dataclass
class Nothing:
    number: int


async def fetch(client: awa.AsyncClient, query: str) -> int:
    transaction = await client.transaction()
    try:
        return (await transaction.fetch_one(query))["jobs"]
    finally:
        await transaction.rollback()


async def execute(client: awa.AsyncClient, statement: str) -> None:
    transaction = await client.transaction()
    await transaction.execute(statement)
    await transaction.commit()


async def prepare(url: str, jobs: int, stripes: int) -> None:
    client = awa.AsyncClient(url)
    await execute(client, "drop schema if exists awa cascade")
    await client.migrate()
    # awa's newer storage, with ring tables that are truncated; the other one is that of its first versions.
    await client.install_queue_storage(schema="awa")
    for first in range(0, jobs, 5_000):
        await client.enqueue_many_copy(
            [Nothing(number) for number in range(first, min(first + 5_000, jobs))],
            queue="bench",
            queue_storage_queue_stripe_count=stripes,
        )
    await client.close()


def server_seconds(pid: int) -> float:
    """Processor seconds of the server's processes so far, including those that have ended."""
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        children = file.read().split()
    ticks = 0
    for number in [str(pid), *children]:
        try:
            with open(f"/proc/{number}/stat") as file:
                ticks += sum(int(field) for field in file.read().rpartition(")")[2].split()[11:15])
        except FileNotFoundError:
            pass  # it has ended; the server's first process counts its time from then on
    return ticks / os.sysconf("SC_CLK_TCK")


async def work(url: str, workers: int, stripes: int, ready, go, done, measured, stop, spent) -> None:
    client = awa.AsyncClient(url, max_connections=20)
    await fetch(client, ENDED)

    @client.task(Nothing, queue="bench")
    async def nothing(job: awa.Job) -> None:
        with done.get_lock():
            done.value += 1

    ready.release()
    while not go.is_set():
        await asyncio.sleep(0.001)
    before = time.process_time()
    await client.start([("bench", workers)], poll_interval_ms=50, queue_storage_queue_stripe_count=stripes)
    while not measured.is_set():
        await asyncio.sleep(0.01)
    spent.put(time.process_time() - before)
    while not stop.is_set():
        await asyncio.sleep(0.01)
    await client.shutdown(timeout_ms=5_000)


def run_worker(*arguments) -> None:
    asyncio.run(work(*arguments))


async def check_completed(url: str, jobs: int) -> None:
    client = awa.AsyncClient(url, max_connections=1)
    deadline = time.monotonic() + 60
    while (completed := await fetch(client, ENDED)) < jobs:
        if time.monotonic() > deadline:
            raise SystemExit(f"awa counts {completed} of {jobs} jobs as completed")
        await asyncio.sleep(0.1)
    await client.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    for name in ("server", "jobs", "workers", "stripes", "processes"):
        parser.add_argument(f"--{name}", type=int, required=True)
    given = parser.parse_args()
    asyncio.run(prepare(given.url, given.jobs, given.stripes))

    # awa starts threads, which a fork would lose.
    context = multiprocessing.get_context("spawn")
    done, ready, go = context.Value("q", 0), context.Semaphore(0), context.Event()
    measured, stop = context.Event(), context.Event()
    spent = context.Queue()
    processes = [
        context.Process(
            target=run_worker,
            args=(given.url, given.workers, given.stripes, ready, go, done, measured, stop, spent),
        )
        for _ in range(given.processes)
    ]
    for process in processes:
        process.start()
    for _ in processes:
        ready.acquire()
    before = server_seconds(given.server)
    began = time.monotonic()
    go.set()
    while done.value < given.jobs:
        time.sleep(0.002)
    seconds = time.monotonic() - began
    processors = server_seconds(given.server) - before
    measured.set()
    processors += sum(spent.get() for _ in processes)
    asyncio.run(check_completed(given.url, given.jobs))
    stop.set()
    for process in processes:
        process.join()
    if any(process.exitcode != 0 for process in processes):
        raise SystemExit("a worker failed")
    print(json.dumps({"seconds": seconds, "jobs": done.value, "cpuSeconds": processors}))


if __name__ == "__main__":
    main()
