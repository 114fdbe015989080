extension PrivatePostgres {
    /// Starts a standby of this server with asynchronous streaming replication, and waits until it streams.
    public func startReplica() throws -> PrivatePostgres {
        let replica = try Self.startStandby(of: self)
        try wait("the replica streams") {
            try run("select count(*) from pg_stat_replication where state = 'streaming'") == "1"
        }
        return replica
    }

    /// A URL with both servers, for clients that look for the one that accepts writes.
    public func url(and other: PrivatePostgres) -> String {
        "postgresql://postgres@\(host):\(port),\(other.host):\(other.port)/postgres"
    }

    /// Waits until `replica` has applied everything that this server has written so far.
    public func waitForReplica(_ replica: PrivatePostgres) throws {
        let written = try run("select pg_current_wal_lsn()")
        try wait("the replica has applied all") {
            try replica.run("select pg_last_wal_replay_lsn() >= '\(written)'") == "t"
        }
    }

    /// Stops replication on a standby: whatever its primary commits from now on is lost with the primary.
    public func stopReceiving() throws {
        try run(each: ["alter system set primary_conninfo = ''", "select pg_reload_conf()"])
        try wait("the replica receives nothing") { try run("select count(*) from pg_stat_wal_receiver") == "0" }
    }

    /// Promotes a standby to primary, and waits until it accepts writes.
    public func promote() throws { try run("select pg_promote(true, 600)") }

    private func wait(_ what: String, until condition: () throws -> Bool) throws {
        let deadline = ContinuousClock.now + .seconds(600)
        // The server's statistics send no events. Each check runs psql, which takes longer than a useful pause.
        while try !condition() {
            guard ContinuousClock.now < deadline else { throw SupportError("wait until \(what)", log) }
        }
    }
}
