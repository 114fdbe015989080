"""The ledger's servers: PostgreSQL with TLS and SCRAM, and a streaming replica."""

import os
import pathlib
import shutil
import signal
import subprocess

from machines import PATIENCE, Broken, wait_until

# Of each login. The drill's network reaches nothing but the drill.
PASSWORD = "drill"
LOGINS = {"pump": "sluice_worker", "producer": "sluice_submitter"}


def program(name):
    """The path of one of PostgreSQL's own programs, of the newest version that is installed."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[-3]))
    if not found:
        raise Broken("no PostgreSQL; run scripts/prepare drill")
    return str(found[-1])


def as_postgres(*words, **options):
    """Runs a program as PostgreSQL's user: the server refuses to run as root."""
    other = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
    done = subprocess.run([*other, *map(str, words)], capture_output=True, text=True, cwd="/", **options)
    if done.returncode != 0:
        raise Broken(f"{' '.join(map(str, words))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Authority:
    """A certificate authority, and the certificates that it has signed."""

    def __init__(self, folder, clock):
        self.folder, self.clock = folder, clock
        folder.mkdir()
        self.root = folder / "root.crt"
        self.openssl(
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "7300",
            "-subj", "/CN=Drill", "-keyout", folder / "root.key", "-out", self.root,
        )

    def openssl(self, *words):
        # Two years ago, because the drill also sets clocks back.
        past = {**os.environ, "LD_PRELOAD": self.clock, "FAKETIME": "-730d"}
        subprocess.run(["openssl", *map(str, words)], env=past, check=True, capture_output=True)

    def certify(self, folder, names):
        """Writes server.key and server.crt for a server that clients reach under `names`."""
        asked, extensions = folder / "server.csr", folder / "extensions"
        extensions.write_text("subjectAltName=" + ",".join(f"DNS:{name}" for name in names))
        self.openssl(
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={names[0]}",
            "-keyout", folder / "server.key", "-out", asked,
        )
        self.openssl(
            "x509", "-req", "-in", asked, "-days", "7300", "-CA", self.root, "-CAkey", self.folder / "root.key",
            "-CAcreateserial", "-extfile", extensions, "-out", folder / "server.crt",
        )
        for name in ["server.key", "server.crt"]:
            shutil.chown(folder / name, "postgres", "postgres")
            (folder / name).chmod(0o600)


# What all servers of a drill have in their postgresql.conf, whoever manages them.
def settings(folder):
    return {
        "listen_addresses": "*",
        "unix_socket_directories": str(folder),
        "ssl": "on",
        "ssl_cert_file": str(folder / "server.crt"),
        "ssl_key_file": str(folder / "server.key"),
        "password_encryption": "scram-sha-256",
        "fsync": "off",
        "shared_buffers": "64MB",
        "max_connections": "200",
        "max_wal_size": "256MB",
        "jit": "off",
        "wal_log_hints": "on",
        "tcp_user_timeout": "10s",
    }


# Passwords over TLS for all; the drill itself comes through the socket.
RULES = [
    "local all postgres trust",
    "local replication replicator scram-sha-256",
    "hostssl replication replicator 10.77.0.0/24 scram-sha-256",
    "hostssl all all 10.77.0.0/24 scram-sha-256",
]


class Server:
    """A PostgreSQL server on a machine, which the drill starts, kills and promotes itself."""

    def __init__(self, machine, folder, authority):
        self.machine, self.folder, self.authority = machine, folder, authority
        self.data = folder / "data"
        self.process = None
        folder.mkdir()
        shutil.chown(folder, "postgres", "postgres")
        authority.certify(folder, [machine.name, "ledger"])

    @property
    def name(self):
        return self.machine.name

    def create(self):
        """Initialises an empty server and starts it."""
        options = ["--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "--username=postgres"]
        as_postgres(program("initdb"), *options, "-D", self.data)
        lines = [f"{name} = '{value}'" for name, value in settings(self.folder).items()]
        with open(self.data / "postgresql.conf", "a") as file:
            file.write("\n".join([*lines, ""]))
        (self.data / "pg_hba.conf").write_text("\n".join([*RULES, ""]))
        self.start()
        self.query(f"create role replicator login replication password '{PASSWORD}'")

    def start(self):
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        self.process = self.machine.start([program("postgres"), "-D", self.data], self.folder / "log", user="postgres")
        wait_until(f"{self.name} accepts connections", self.accepts, why=self.log)

    def accepts(self):
        if not self.process.is_running():
            raise Broken(f"{self.name} does not start:\n{self.log()}")
        return subprocess.run([program("pg_isready"), "-q", "-h", self.folder]).returncode == 0

    def log(self):
        path = self.folder / "log"
        return path.read_text(errors="replace")[-3000:] if path.exists() else "no log"

    def lose_power(self):
        """Kills all its processes at once."""
        self.process.kill_all()

    def stop(self):
        self.process.stop(signal.SIGINT)

    def follow(self, primary):
        """Becomes a streaming replica of `primary`, with a new copy of its data, and waits until it streams."""
        shutil.rmtree(self.data, ignore_errors=True)
        address = (
            f"host={primary.name} user=replicator password={PASSWORD} sslmode=verify-full "
            f"sslrootcert={self.authority.root} application_name={self.name}"
        )
        copy = [program("pg_basebackup"), "--no-sync", "--checkpoint=fast", "--write-recovery-conf"]
        self.machine.run(*copy, "--pgdata", self.data, "--dbname", address, user="postgres")
        path = self.data / "postgresql.conf"
        # The last line of a setting wins.
        own = [f"{name} = '{value}'" for name, value in settings(self.folder).items()]
        path.write_text("\n".join([path.read_text(), *own, ""]))
        self.start()
        wait_until(f"{self.name} follows {primary.name}", lambda: primary.replicas() == 1, why=self.log)

    def replicas(self):
        return int(self.query("select count(*) from pg_stat_replication where state = 'streaming'"))

    def wait_for_replica(self, replica):
        """Waits until `replica` has applied everything that this server has written so far."""
        written = self.query("select pg_current_wal_lsn()")
        wait_until(
            f"{replica.name} has applied all",
            lambda: replica.query(f"select coalesce(pg_last_wal_replay_lsn(), '0/0') >= '{written}'") == "t",
        )

    def promote(self):
        self.query("select pg_promote(true, 60)")

    def query(self, statement, database="postgres", check=True):
        """Runs SQL as the superuser through the socket, which no fault of the network affects."""
        psql = [program("psql"), "-XAtq", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-h", self.folder, "-d", database]
        done = subprocess.run([*psql, "-c", statement], capture_output=True, text=True, timeout=PATIENCE)
        if check and done.returncode != 0:
            raise Broken(f"{self.name}: {done.stderr}")
        return done.stdout.strip() if done.returncode == 0 else None


class PairByHand:
    """Two servers of which one follows the other. The drill itself decides which one leads."""

    kind = "by hand"

    def __init__(self, network, folder, authority):
        self.authority = authority
        self.servers = [Server(network.machines[name], folder / name, authority) for name in ["db1", "db2"]]
        self.primary, self.replica = self.servers

    def create(self):
        self.primary.create()
        self.replica.follow(self.primary)

    def address(self, login):
        hosts = ",".join(server.name for server in self.servers)
        return (
            f"postgresql://{login}:{PASSWORD}@{hosts}/audio?target_session_attrs=read-write&sslmode=verify-full"
            f"&sslrootcert={self.authority.root}&channel_binding=require&connect_timeout=2"
        )

    def query(self, statement):
        return self.primary.query(statement, "audio")

    def swap(self):
        """The replica has been promoted: the roles change."""
        self.primary, self.replica = self.replica, self.primary

    def stop(self):
        for server in self.servers:
            if server.process.is_running():
                server.stop()

    def logs(self):
        return "\n".join(f"--- {server.name}\n{server.log()}" for server in self.servers)
