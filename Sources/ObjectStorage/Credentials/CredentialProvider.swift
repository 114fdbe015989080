import Synchronization
package import WebClient

/// Credentials that are looked up when they are first needed, and again before they end. Its calls block.
package final class CredentialProvider: Sendable {
    private struct State {
        var current: StoreCredentials?
        /// When the next look-up is due, if the last one failed or has found credentials that end soon.
        var retryAt: StoreTime?
    }

    private let places: CredentialPlaces
    /// Credentials that are not looked up.
    private let fixed: StoreCredentials?
    private let requests: CredentialRequests
    private let state = Mutex(State())
    /// Held during a look-up, so that many threads make one.
    private let lookUp = Mutex(())

    /// How long before their end credentials are renewed. A request that is signed with them then arrives in time.
    package static let margin: Duration = .seconds(300)
    /// How long after such a look-up the next one begins, while the credentials are still valid.
    private static let rest: Duration = .seconds(30)

    /// Reads nothing yet. `send` makes requests to servers of credentials, and `now` is the clock that their end is compared
    /// with.
    package init(
        _ places: CredentialPlaces,
        send: @escaping @Sendable (WebRequest) throws(WebError) -> WebAnswer = { request throws(WebError) in
            try WebConnection().send(request)
        },
        now: @escaping @Sendable () -> StoreTime = StoreTime.now
    ) {
        self.places = places
        fixed = nil
        requests = CredentialRequests(send: send, environment: places.environment, now: now)
    }

    /// Always provides `credentials`.
    package init(fixed credentials: StoreCredentials) {
        fixed = credentials
        places = CredentialPlaces(environment: [:])
        requests = CredentialRequests(
            send: { _ throws(WebError) in throw WebError(.stopped, "these credentials are not asked for") },
            environment: [:],
            now: StoreTime.now
        )
    }

    /// Credentials that are valid for some minutes. If new ones cannot be had, the old ones until their end.
    package func credentials() throws(CredentialError) -> StoreCredentials {
        if let fixed { return fixed }
        let now = requests.now()
        if let current = usable(at: now) { return current }
        // While another thread looks them up, those that are valid for some minutes more will do.
        if let valid = valid(at: now) {
            let found = try lookUp.withLockIfAvailable { _ throws(CredentialError) in try look(at: now) }
            return found ?? valid
        }
        return try lookUp.withLock { _ throws(CredentialError) in try look(at: now) }
    }

    /// Looks them up. `lookUp` is held.
    private func look(at now: StoreTime) throws(CredentialError) -> StoreCredentials {
        // Another thread may have looked meanwhile.
        if let current = usable(at: now) { return current }
        do throws(CredentialError) {
            let found = try requests.credentials(from: try places.source())
            if let end = found.expires, end <= now {
                throw CredentialError("the credentials \(found.keyID.prefix(4))... ended at \(end.compact)")
            }
            // If they end soon, the server has no better ones yet: it is not asked for each request.
            state.withLock { $0 = State(current: found, retryAt: now.advanced(by: Self.rest)) }
            return found
        } catch {
            guard let valid = valid(at: now) else { throw error }
            state.withLock { $0.retryAt = now.advanced(by: Self.rest) }
            return valid
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
            if state.current == credentials { state = State() }
        }
    }

    private func usable(at now: StoreTime) -> StoreCredentials? {
        state.withLock { state in
            guard let current = state.current else { return nil }
            guard let end = current.expires, end <= now.advanced(by: Self.margin) else { return current }
            if let retry = state.retryAt, retry > now, end > now { return current }
            return nil
        }
    }
}

extension CredentialProvider: CustomReflectable {
    /// Without children: they have the variables of the process.
    package var customMirror: Mirror { Mirror(self, children: [(label: String?, value: Any)]()) }
}
