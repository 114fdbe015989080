/// Runs many seeds concurrently.
enum Seeds {
    struct Finding: Sendable {
        let seed: UInt64
        let promise: Violation
    }

    /// Runs `count` seeds from `first` on and returns the lowest seed that breaks a promise.
    static func lowestBroken(
        _ count: Int,
        from first: UInt64 = 0,
        under guards: Guards = .all,
        overlooking overlooked: Set<Violation> = [],
        in weather: Weather = .mixed
    ) async -> Finding? {
        // Run pieces, so that all cores are busy and the search ends soon after a finding.
        let piece = 250
        return await withTaskGroup(of: Finding?.self) { group in
            var next = 0
            var lowest: Finding?
            func add() {
                guard next < count, lowest == nil else { return }
                let range = next..<min(next + piece, count)
                next = range.upperBound
                group.addTask {
                    for index in range {
                        let seed = first + UInt64(index)
                        let run = Run(
                            seed: seed,
                            under: guards,
                            overlooking: overlooked,
                            in: weather
                        )
                        var none: [Step]?
                        if let promise = run.live(keeping: &none).violation {
                            return Finding(seed: seed, promise: promise)
                        }
                    }
                    return nil
                }
            }
            for _ in 0..<4 { add() }
            while let found = await group.next() {
                if let found, found.seed < lowest?.seed ?? .max { lowest = found }
                add()
            }
            return lowest
        }
    }

    /// All of the first `count` seeds that break a promise.
    static func broken(_ count: Int, under guards: Guards, in weather: Weather) async -> [Finding] {
        await withTaskGroup(of: [Finding].self) { group in
            for piece in 0..<4 {
                group.addTask {
                    (0..<UInt64(count)).filter { $0 % 4 == piece }.compactMap { seed in
                        var none: [Step]?
                        let promise = Run(seed: seed, under: guards, in: weather).live(keeping: &none).violation
                        return promise.map { Finding(seed: seed, promise: $0) }
                    }
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }
}
