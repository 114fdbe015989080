"""Measures how long pgqueuer takes to process jobs that were queued beforehand.

    drain.py URL --server 4711 --jobs 50000 --batch 100 --connections 4 --processes 2

Before the clock starts, pgqueuer's tables are created anew, the jobs are queued and the table is analyzed. Each
connection is a separate PgQueuer in drain mode, as in pgqueuer's own benchmark; the job function does nothing. Tables
are durable, which is its default. The clock stops when the last worker has written its last result. Prints one line
of JSON: the wall-clock seconds, and the processor seconds of the workers and of the server whose first process is
--server.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import time

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries
from pgqueuer.types import QueueExecutionMode


async def prepare(url: str, jobs: int) -> None:
    connection = await asyncpg.connect(url)
    queries = Queries(AsyncpgDriver(connection))
    if await queries.schema_is_installed():
        await queries.uninstall()
    await queries.install()
    await queries.optimize_autovacuum()
    await queries.enqueue(["nothing"] * jobs, [b""] * jobs, [0] * jobs)
    await connection.execute("vacuum analyze pgqueuer")
    await connection.execute("checkpoint")
    await connection.close()


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


async def work(url: str, batch: int, connections: int, ready, go, spent) -> None:
    opened = [await asyncpg.connect(url) for _ in range(connections)]

    async def drain(connection: asyncpg.Connection) -> None:
        queue = PgQueuer(AsyncpgDriver(connection))

        @queue.entrypoint("nothing")
        async def nothing(job) -> None:
            pass

        await queue.run(batch_size=batch, mode=QueueExecutionMode.drain)

    ready.release()
    await asyncio.to_thread(go.wait)
    before = time.process_time()
    await asyncio.gather(*(drain(connection) for connection in opened))
    spent.put(time.process_time() - before)
    for connection in opened:
        await connection.close()


def worker(url: str, batch: int, connections: int, ready, go, spent) -> None:
    uvloop.run(work(url, batch, connections, ready, go, spent))


async def count_done(url: str) -> int:
    connection = await asyncpg.connect(url)
    done = await connection.fetchval("select count(*) from pgqueuer_log where status = 'successful'")
    await connection.close()
    return done


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--server", type=int, required=True)
    parser.add_argument("--jobs", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--connections", type=int, required=True)
    parser.add_argument("--processes", type=int, required=True)
    given = parser.parse_args()

    uvloop.run(prepare(given.url, given.jobs))
    context = multiprocessing.get_context("spawn")
    ready, go, spent = context.Semaphore(0), context.Event(), context.Queue()
    share = given.connections // given.processes
    workers = [
        context.Process(target=worker, args=(given.url, given.batch, share, ready, go, spent))
        for _ in range(given.processes)
    ]
    for process in workers:
        process.start()
    for _ in workers:
        ready.acquire()
    before = server_seconds(given.server)
    began = time.monotonic()
    go.set()
    processors = sum(spent.get() for _ in workers)
    for process in workers:
        process.join()
    seconds = time.monotonic() - began
    processors += server_seconds(given.server) - before
    if any(process.exitcode != 0 for process in workers):
        raise SystemExit("a worker failed")
    done = uvloop.run(count_done(given.url))
    if done != given.jobs:
        raise SystemExit(f"{done} jobs were done, not {given.jobs}")
    print(json.dumps({"seconds": seconds, "jobs": done, "cpuSeconds": processors}))


if __name__ == "__main__":
    main()
