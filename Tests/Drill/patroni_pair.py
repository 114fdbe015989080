"""Two servers that Patroni manages, with etcd, and clients that come through HAProxy or name both hosts."""

import json

from machines import kill_trees, wait_until
from servers import PASSWORD, RULES, Server, program, settings

# With shorter times than those of docs/failover.md.
CONSENSUS = {
    "ttl": 5, "loop_wait": 1, "retry_timeout": 2, "primary_start_timeout": 0, "maximum_lag_on_failover": 1048576,
}
# What differs from one server to the next is no parameter of the pair.
LOCAL = ["listen_addresses", "unix_socket_directories", "ssl_cert_file", "ssl_key_file"]

HAPROXY = """\
global
    maxconn 500
defaults
    mode tcp
    timeout connect 2s
    timeout client 1h
    timeout server 1h
    timeout check 1s
listen ledger
    bind *:5432
    option httpchk GET /primary
    http-check expect status 200
    default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
    server db1 db1:5432 check port 8008
    server db2 db2:5432 check port 8008
"""


def configuration(name, folder, root):
    """What Patroni reads on machine `name`. docs/failover.md shows the same, which a test compares."""
    every = settings(folder)
    login = {"password": PASSWORD, "sslmode": "verify-full", "sslrootcert": str(root)}
    return {
        "scope": "drill",
        "name": name,
        "restapi": {"listen": "0.0.0.0:8008", "connect_address": f"{name}:8008"},
        "etcd3": {"hosts": "dcs:2379"},
        "bootstrap": {
            "dcs": {
                **CONSENSUS,
                "postgresql": {
                    "use_pg_rewind": True,
                    "parameters": {key: value for key, value in every.items() if key not in LOCAL},
                },
            },
            "initdb": [{"encoding": "UTF8"}, {"locale": "C"}],
        },
        "postgresql": {
            "listen": "0.0.0.0:5432",
            "connect_address": f"{name}:5432",
            "data_dir": f"{folder}/data",
            "bin_dir": program("postgres").removesuffix("/postgres"),
            "pgpass": f"{folder}/pgpass",
            # Over TCP, Patroni would connect to "localhost", which the certificate does not name.
            "use_unix_socket": True,
            "use_unix_socket_repl": True,
            "authentication": {
                "superuser": {"username": "postgres", **login},
                "replication": {"username": "replicator", **login},
            },
            "parameters": {key: every[key] for key in LOCAL if key != "listen_addresses"},
            "pg_hba": RULES,
            "remove_data_directory_on_rewind_failure": True,
            "remove_data_directory_on_diverged_timelines": True,
        },
    }


class PatroniServer(Server):
    """A server that Patroni creates, starts, promotes and demotes."""

    def configure(self):
        # JSON is also YAML.
        text = json.dumps(configuration(self.name, self.folder, self.authority.root), indent=2)
        (self.folder / "patroni.yml").write_text(text)

    def start(self):
        environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(self.folder)}
        words = ["patroni", self.folder / "patroni.yml"]
        self.process = self.machine.start(words, self.folder / "log", environment, user="postgres")

    def leads(self):
        return self.query("select not pg_is_in_recovery()", check=False) == "t"

    def follows(self):
        return self.query("select count(*) from pg_stat_wal_receiver where status = 'streaming'", check=False) == "1"

    def kill_server(self):
        """Kills PostgreSQL and not Patroni."""
        # A server has no parent that waits for it: Patroni starts it by a process that ends.
        kill_trees([int((self.data / "postmaster.pid").read_text().split()[0])])

    def lose_power(self):
        self.process.kill_all()
        try:
            self.kill_server()
        except FileNotFoundError:
            pass
        (self.data / "postmaster.pid").unlink(missing_ok=True)


class PairByPatroni:
    """Two servers, of which Patroni decides which one leads."""

    def __init__(self, network, folder, authority, has_proxy):
        self.network, self.folder, self.authority, self.has_proxy = network, folder, authority, has_proxy
        self.kind = "Patroni and HAProxy" if has_proxy else "Patroni and several hosts"
        self.servers = [PatroniServer(network.machines[name], folder / name, authority) for name in ["db1", "db2"]]
        self.others = []
        # The server that led when somebody last looked.
        self.leader = None

    def create(self):
        store = self.folder / "dcs"
        words = [
            "etcd", "--name", "dcs", "--data-dir", store, "--listen-client-urls", "http://0.0.0.0:2379",
            "--advertise-client-urls", "http://dcs:2379", "--unsafe-no-fsync", "--logger", "zap",
        ]
        self.others.append(self.network.machines["dcs"].start(words, self.folder / "dcs.log"))
        self.others[0].wait_for("serving client traffic")
        for server in self.servers:
            server.configure()
            server.start()
            self.wait_for_leader()
        self.wait_for_pair()
        if self.has_proxy:
            path = self.folder / "haproxy.cfg"
            path.write_text(HAPROXY)
            log = self.folder / "ledger.log"
            self.others.append(self.network.machines["ledger"].start(["/usr/sbin/haproxy", "-db", "-f", path], log))

    def wait_for_leader(self, other_than=None):
        """Waits until a server leads, and returns it."""
        def leader():
            return next((server for server in self.servers if server is not other_than and server.leads()), None)

        self.leader = wait_until("a server leads", leader, why=self.logs)
        return self.leader

    def wait_for_pair(self):
        """Waits until one server leads and the other one follows it."""
        def is_whole():
            states = sorted((server.leads(), server.follows()) for server in self.servers)
            return states == [(False, True), (True, False)]

        wait_until("one server follows the other", is_whole, why=self.logs)

    @property
    def primary(self):
        # A leader that was cut off also counts itself as one until it learns of the other.
        return self.leader if self.leader and self.leader.leads() else self.wait_for_leader()

    @property
    def replica(self):
        primary = self.primary
        return next(server for server in self.servers if server is not primary)

    def address(self, login):
        hosts = "ledger" if self.has_proxy else "db1,db2"
        return (
            f"postgresql://{login}:{PASSWORD}@{hosts}/audio?target_session_attrs=read-write&sslmode=verify-full"
            f"&sslrootcert={self.authority.root}&channel_binding=require&connect_timeout=2"
        )

    def query(self, statement):
        return self.primary.query(statement, "audio")

    def stop(self):
        for server in reversed(self.servers):
            server.lose_power()
        for process in self.others:
            process.kill_all()

    def logs(self):
        return "\n".join(f"--- {server.name}\n{server.log()}" for server in self.servers)
