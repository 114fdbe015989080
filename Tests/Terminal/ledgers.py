"""A PostgreSQL server for these tests, and ledgers on it."""

import atexit
import os
import pathlib
import shutil
import subprocess
import tempfile

from terminal import SLUICE, Terminal, environment, run


def postgres_program(name):
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    assert found, "no PostgreSQL; run scripts/prepare test"
    return str(found[-1])


class Server:
    """A PostgreSQL server that only a socket reaches."""

    def __init__(self, folder=None):
        # Not below pytest's folder: whenever another pytest begins, it closes that one to other users.
        parents = list(folder.parents)[:2] if folder else []
        if folder is None:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="sluice-postgres-"))
            folder.chmod(0o755)
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
        # PostgreSQL refuses to run as root.
        other = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
        if other:
            subprocess.run(["chown", "postgres", str(folder)], check=True)
            for parent in parents:
                parent.chmod(0o755)
        data = f"{folder}/data"
        initialise = ["--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "--username=postgres", "-D", data]
        subprocess.run([*other, postgres_program("initdb"), *initialise], check=True, capture_output=True, cwd="/")
        # Nothing here must survive a crash of the machine.
        self.options = f"-c listen_addresses= -c unix_socket_directories={folder}"
        self.options += " -c fsync=off -c full_page_writes=off -c jit=off"
        # It would visit every database once a minute, and each test leaves one.
        self.options += " -c autovacuum=off"
        self.control = [*other, postgres_program("pg_ctl"), "-D", data, "-l", f"{folder}/log", "-w"]
        self.url = f"postgresql://postgres@/{{}}?host={folder}"
        self.template = None
        self.start()

    def start(self):
        subprocess.run([*self.control, "-o", self.options, "start"], check=True, capture_output=True, cwd="/")

    def stop(self):
        subprocess.run([*self.control, "-m", "immediate", "stop"], check=True, capture_output=True, cwd="/")

    def query(self, statement, database="postgres"):
        psql = [postgres_program("psql"), "--quiet", "--tuples-only", "--no-align", self.url.format(database)]
        return subprocess.run([*psql, "-c", statement], check=True, capture_output=True, text=True).stdout.strip()

    def empty_ledger(self, folder):
        """Creates a ledger: a copy of one that `sluice migrate` has made, which takes much less time."""
        if self.template is None:
            self.query("create database template_ledger")
            Ledger(self, "template_ledger", "/").run("migrate")
            self.template = "template_ledger"
        name = f"test_{os.urandom(6).hex()}"
        # By files, which takes less time than through the write-ahead log.
        self.query(f"create database {name} template {self.template} strategy file_copy")
        return Ledger(self, name, folder)

    def ledger(self, folder):
        """Creates a ledger in which twelve jobs wait."""
        ledger = self.empty_ledger(folder)
        for number in range(12):
            (folder / f"a recording with quite a long name, number {number:02}.wav").touch()
        ledger.run("submit", "-r", ".", "--to", "out/{stem}.mp3", "--preset", "podcast-mp3", "--label", "recordings")
        return ledger


class Ledger:
    def __init__(self, server, name, folder):
        self.server = server
        self.name = name
        self.folder = folder
        self.variables = {"SLUICE_DATABASE_URL": server.url.format(name)}

    def run(self, *words, **more):
        variables = environment(**{**self.variables, **more})
        done = subprocess.run(
            [str(SLUICE), *words], cwd=self.folder, env=variables, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self, *words):
        """Starts a service that logs to a file in the folder."""
        with open(self.folder / f"{words[0]}.log", "wb") as log:
            return subprocess.Popen(
                [str(SLUICE), *words], cwd=self.folder, env=environment(**self.variables), stdout=log, stderr=log
            )

    def hold(self, statement):
        """A session of the database with what `statement` has locked, until its input ends."""
        command = [postgres_program("psql"), "--quiet", "--no-align", "--tuples-only", self.server.url.format(self.name)]
        psql = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        psql.stdin.write(f"begin; {statement}; select 'held';\n")
        psql.stdin.flush()
        # The statement may have rows of its own.
        while (line := psql.stdout.readline()) != "held\n":
            assert line, "the session has ended"
        return psql

    def query(self, statement):
        return self.server.query(statement, self.name)

    def ids(self, *words):
        """The numbers of the jobs that match the options."""
        return self.run("jobs", "--quiet", *words).split()

    def terminal(self, *words, **more):
        return Terminal([SLUICE, *words], self.folder, **{**self.variables, **more})

    def shown(self, *words, columns):
        return run(list(words), self.folder, columns, **self.variables)
