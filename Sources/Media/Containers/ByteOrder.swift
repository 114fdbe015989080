func bigEndian(_ bytes: some Collection<UInt8>) -> Int64 { bytes.reduce(0) { $0 << 8 | Int64($1) } }

func littleEndian(_ bytes: some Collection<UInt8>) -> Int64 {
    bytes.reversed().reduce(0) { $0 << 8 | Int64($1) }
}

func bigEndianBytes(_ value: Int64, count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * Int64(count - 1 - $0))) }
}
