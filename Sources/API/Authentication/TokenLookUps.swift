import Ledger

/// Looks up tokens that are not known: many in one statement, and one statement at a time.
///
/// A flood of unknown tokens costs the ledger some statements a second, and the holder of a valid one waits for the statement
/// that is under way. Those who wait have a line for each network. When too many wait, the longest line is cut.
actor TokenLookUps {
    private struct Waiter {
        let token: AccessToken
        let place: CheckedContinuation<TokenRecord?, any Error>
    }

    private let find: @Sendable ([AccessToken]) async throws -> [TokenRecord?]
    /// Tokens that were valid some seconds ago, which go first.
    private var known: [Waiter] = []
    /// The others, by their network.
    private var lines: [String: [Waiter]] = [:]
    private var count = 0
    private var isAsking = false

    /// How many may wait, and how many share a statement.
    private let most: Int
    private let mostInOne: Int

    /// `find` asks the ledger. All others wait for it, so it must give up after some seconds.
    init(
        most: Int = 5_000,
        mostInOne: Int = 500,
        _ find: @escaping @Sendable ([AccessToken]) async throws -> [TokenRecord?]
    ) {
        (self.most, self.mostInOne, self.find) = (most, mostInOne, find)
    }

    /// How many wait for the next statements.
    var waitingCount: Int { known.count + count }

    /// What the ledger knows of a token; `nil` if it does not know it. Throws a `Problem` if too many wait.
    func record(of token: AccessToken, isKnown: Bool, from network: String) async throws -> TokenRecord? {
        if !isKnown { try makeSpace(for: network) }
        return try await withCheckedThrowingContinuation { place in
            let waiter = Waiter(token: token, place: place)
            if isKnown {
                known.append(waiter)
            } else {
                lines[network, default: []].append(waiter)
                count += 1
            }
            guard !isAsking else { return }
            isAsking = true
            Task { await ask() }
        }
    }

    private func makeSpace(for network: String) throws(Problem) {
        guard count >= most else { return }
        guard let longest = lines.max(by: { $0.value.count < $1.value.count }),
            lines[network, default: []].count + 1 < longest.value.count, let last = lines[longest.key]?.popLast()
        else { throw Problem(.tooManyFailures) }
        count -= 1
        last.place.resume(throwing: Problem(.tooManyFailures))
    }

    private func ask() async {
        while !known.isEmpty || count > 0 {
            let group = next()
            do {
                let records = try await find(group.map(\.token))
                for (waiter, record) in zip(group, records) { waiter.place.resume(returning: record) }
            } catch {
                for waiter in group { waiter.place.resume(throwing: error) }
            }
        }
        isAsking = false
    }

    /// Those who share the next statement: as many of each network.
    private func next() -> [Waiter] {
        var group = Array(known.prefix(mostInOne))
        known.removeFirst(group.count)
        while group.count < mostInOne, !lines.isEmpty {
            let share = max(1, (mostInOne - group.count) / lines.count)
            // In random order: when there are more networks than places, each has the same chance.
            for (network, line) in lines.shuffled() where group.count < mostInOne {
                let taken = min(share, mostInOne - group.count, line.count)
                group += line.prefix(taken)
                count -= taken
                lines[network] = taken < line.count ? Array(line.dropFirst(taken)) : nil
            }
        }
        return group
    }
}
