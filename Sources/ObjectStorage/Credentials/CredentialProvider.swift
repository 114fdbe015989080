import Synchronization
package import WebClient

/// Credentials that are looked up when they are first needed, and again before they end. Its calls block.
package final class CredentialProvider: Sendable {
    private struct State {
        var current: StoreCredentials?
        /// When the next look-up is due by this machine's clock, if the last one failed or has found credentials that end soon.
        var retryAt: StoreTime?
        /// Whether the store's clock was known at the last look-up.
        var isByStoreClock = false
        /// Whether a look-up has ever found credentials.
        var hasFound = false
        /// That there is no server of credentials, and when that was found by this machine's clock.
        var absence: (error: CredentialError, time: StoreTime)?
        /// How many look-ups have found nothing, and why the last of them has not.
        var failures: (count: Int, last: CredentialError?) = (0, nil)
    }

    private let places: CredentialPlaces
    /// Credentials that are not looked up.
    private let fixed: StoreCredentials?
    private let send: CredentialRequests.Send
    private let clock: @Sendable () -> StoreTime
    private let lookUpLimit: Duration
    private let state = Mutex(State())
    /// Held during a look-up, so that many threads make one.
    private let lookUp = Mutex(())

    /// How long before their end credentials are renewed. A request that is signed with them then arrives in time.
    package static let margin: Duration = .seconds(300)
    /// How long after such a look-up the next one begins, while the credentials are still valid.
    private static let rest: Duration = .seconds(30)
    /// For how long a machine without a server of credentials counts as such.
    package static let absenceDuration: Duration = .seconds(60)
    /// How long a look-up may take, with all its requests or the program that it starts.
    package static let lookUpLimit: Duration = .seconds(60)

    /// Reads nothing yet. `send` makes requests to servers of credentials, and `now` is the clock that their end is compared
    /// with.
    package init(
        _ places: CredentialPlaces,
        send: @escaping @Sendable (WebRequest) throws(WebError) -> WebAnswer = { request throws(WebError) in
            try WebConnection().send(request)
        },
        now: @escaping @Sendable () -> StoreTime = StoreTime.now,
        lookUpLimit: Duration = lookUpLimit
    ) {
        (self.places, self.send, clock, self.lookUpLimit) = (places, send, now, lookUpLimit)
        fixed = nil
    }

    /// Always provides `credentials`.
    package init(fixed credentials: StoreCredentials) {
        fixed = credentials
        places = CredentialPlaces(environment: [:])
        send = { _ throws(WebError) in throw WebError(.stopped, "these credentials are not asked for") }
        clock = StoreTime.now
        lookUpLimit = Self.lookUpLimit
    }

    /// Credentials that are valid for some minutes. If new ones cannot be had, the old ones until their end.
    ///
    /// `clockOffset` is added to this machine's clock, in seconds: the store compares the end of credentials with its own.
    /// With `nil`, the store's clock is not known yet; then credentials that have ended by this machine's clock are provided,
    /// and the store decides.
    ///
    /// Waits for one look-up at the longest, its own or that of another thread, whose failure it then throws. A second more
    /// passes if the look-up's program has to be killed.
    package func credentials(clockOffset: Int64? = 0) throws(CredentialError) -> StoreCredentials {
        if let fixed { return fixed }
        let isKnown = clockOffset != nil
        // Before the time is asked for, by which tests know that this thread takes the next failure.
        let failures = state.withLock { $0.failures.count }
        let now = clock().advanced(by: .seconds(clockOffset ?? 0))
        if let current = usable(at: now, isKnown) { return current }
        // While another thread looks them up, those that are valid for some minutes more will do.
        if let valid = valid(at: now) {
            let found = try lookUp.withLockIfAvailable { _ throws(CredentialError) in try look(at: now, isKnown) }
            return found ?? valid
        }
        return try lookUp.withLock { _ throws(CredentialError) in
            // A look-up has failed while this thread waited for it. If each of many threads made its own, the last one would
            // wait for all of them. A thread that came later may have found credentials since.
            if let current = usable(at: now, isKnown) { return current }
            let (count, last) = state.withLock { $0.failures }
            if count != failures, let last { throw last }
            return try look(at: now, isKnown)
        }
    }

    /// Looks them up. `lookUp` is held. `isKnown`: whether `now` is the time of the store.
    private func look(at now: StoreTime, _ isKnown: Bool) throws(CredentialError) -> StoreCredentials {
        // Another thread may have looked meanwhile.
        if let current = usable(at: now, isKnown) { return current }
        let local = clock()
        if let absence = state.withLock({ $0.absence }), absence.time <= local,
            local < absence.time.advanced(by: Self.absenceDuration)
        {
            throw absence.error
        }
        do throws(CredentialError) {
            let requests = CredentialRequests(
                send: send,
                environment: places.environment,
                deadline: .now + lookUpLimit
            )
            let found = try requests.credentials(from: try places.source(), at: isKnown ? now : nil)
            if isKnown, let end = found.expires, end <= now {
                throw CredentialError("the credentials \(found.keyID.prefix(4))... ended at \(end.compact)")
            }
            // If they end soon, the server has no better ones yet: it is not asked for each request.
            state.withLock { state in
                state = State(
                    current: found,
                    retryAt: local.advanced(by: Self.rest),
                    isByStoreClock: isKnown,
                    hasFound: true,
                    failures: state.failures
                )
            }
            return found
        } catch {
            guard let valid = valid(at: now) else { throw noted(error) }
            state.withLock { $0.retryAt = local.advanced(by: Self.rest) }
            return valid
        }
    }

    /// Remembers the failure for the threads that wait for the look-up, and that there is no server of credentials. One that
    /// has given credentials before is only silent for a while.
    private func noted(_ error: CredentialError) -> CredentialError {
        // Not before: the look-up itself takes seconds.
        let local = clock()
        return state.withLock { state in
            var error = error
            if error.isAbsence, state.hasFound {
                error = CredentialError(error.why, hint: error.hint, isTemporary: true)
            } else if error.isAbsence {
                state.absence = (error, local)
            }
            state.failures = (state.failures.count + 1, error)
            return error
        }
    }

    /// The credentials that are there, if they have not ended yet.
    private func valid(at now: StoreTime) -> StoreCredentials? {
        guard let current = state.withLock({ $0.current }), let end = current.expires, end > now else { return nil }
        return current
    }

    /// A store has refused `credentials` as ended or unknown: the next request looks them up again.
    package func renew(_ credentials: StoreCredentials) {
        state.withLock { state in
            if state.current == credentials { (state.current, state.retryAt) = (nil, nil) }
        }
    }

    private func usable(at now: StoreTime, _ isKnown: Bool) -> StoreCredentials? {
        let local = clock()
        return state.withLock { state in
            guard let current = state.current else { return nil }
            guard let end = current.expires, end <= now.advanced(by: Self.margin) else { return current }
            // Credentials that were looked up before the store's clock was known may end soon by it.
            if let retry = state.retryAt, retry > local, !isKnown || end > now && state.isByStoreClock {
                return current
            }
            return nil
        }
    }
}

extension CredentialProvider: CustomReflectable {
    /// Without children: they have the variables of the process.
    package var customMirror: Mirror { Mirror(self, children: [(label: String?, value: Any)]()) }
}
