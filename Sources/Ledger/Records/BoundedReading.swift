/// Reads numbers that another process tells of. The sum of as many as an answer can hold does not overflow.
extension KeyedDecodingContainer {
    /// More jobs, workers or attempts than any ledger has. An answer has less than 2 to the power of 22 numbers.
    private static var most: Int64 { 1 << 40 }
    /// More bytes or frames than any file has: 2 to the power of 53.
    private static var largest: Int64 { 1 << 53 }

    /// The number after an id is another one.
    package func id(_ key: Key) throws -> Int64 { try within(1...Int64.max - 1, decode(Int64.self, forKey: key), key) }

    package func count(_ key: Key) throws -> Int {
        Int(try within(0...Self.most, decode(Int64.self, forKey: key), key))
    }

    /// Bytes or frames. These are not added up.
    package func size(_ key: Key) throws -> Int64 { try within(0...Self.largest, decode(Int64.self, forKey: key), key) }

    /// A number that people choose, such as a weight.
    package func small(_ key: Key) throws -> Int {
        Int(try within(-1_000_000_000...1_000_000_000, decode(Int64.self, forKey: key), key))
    }

    package func smallIfPresent(_ key: Key) throws -> Int? {
        try decodeIfPresent(Int64.self, forKey: key).map {
            Int(try within(-1_000_000_000...1_000_000_000, $0, key))
        }
    }

    package func seconds(_ key: Key) throws -> Double { try within(decode(Double.self, forKey: key), key) }

    package func secondsIfPresent(_ key: Key) throws -> Double? {
        try decodeIfPresent(Double.self, forKey: key).map { try within($0, key) }
    }

    package func counts(_ key: Key) throws -> JobCounts {
        let counts = try decode(JobCounts.self, forKey: key)
        for state in JobState.allCases { _ = try within(0...Self.most, Int64(counts[state]), key) }
        return counts
    }

    package func number(_ key: Key) throws -> Double {
        let number = try decode(Double.self, forKey: key)
        guard abs(number) <= Double(Self.largest) else { throw Self.misfit(codingPath + [key]) }
        return number
    }

    private func within(_ range: ClosedRange<Int64>, _ number: Int64, _ key: Key) throws -> Int64 {
        guard range.contains(number) else { throw Self.misfit(codingPath + [key]) }
        return number
    }

    private func within(_ number: Double, _ key: Key) throws -> Double {
        // Milliseconds of it fit into 64 bits.
        guard number >= 0, number <= 1e12 else { throw Self.misfit(codingPath + [key]) }
        return number
    }

    private static func misfit(_ path: [any CodingKey]) -> DecodingError {
        .dataCorrupted(.init(codingPath: path, debugDescription: "is out of range"))
    }
}
