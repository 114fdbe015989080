extension PrivatePostgres {
    /// Starts a standby of this server that receives its WAL by streaming, asynchronously, and waits until it does.
    public func startReplica() throws -> PrivatePostgres {
        let replica = try Self.startStandby(of: self)
        try wait("the replica streams") {
            try run("select count(*) from pg_stat_replication where state = 'streaming'") == "1"
        }
        return replica
    }

    /// The URL of both servers' database, for clients that look for the one that takes changes.
    public func url(and other: PrivatePostgres) -> String {
        "postgresql://postgres@\(host):\(port),\(other.host):\(other.port)/postgres"
    }

    /// Waits until `replica` has applied all that this server has written so far.
    public func waitForReplica(_ replica: PrivatePostgres) throws {
        let written = try run("select pg_current_wal_lsn()")
        try wait("the replica has applied all") {
            try replica.run("select pg_last_wal_replay_lsn() >= '\(written)'") == "t"
        }
    }

    /// Lets a standby receive nothing more: what its primary commits from now on is lost with that primary.
    public func stopReceiving() throws {
        try run(each: ["alter system set primary_conninfo = ''", "select pg_reload_conf()"])
        try wait("the replica receives nothing") { try run("select count(*) from pg_stat_wal_receiver") == "0" }
    }

    /// Makes a standby the primary, and waits until it takes changes.
    public func promote() throws { try run("select pg_promote(true, 60)") }

    private func wait(_ what: String, until condition: () throws -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(60)
        while try !condition() {
            guard ContinuousClock.now < deadline else { throw SupportError("wait until \(what)", log) }
        }
    }
}
