import Conversion

/// Corrects CAF's packet table: libav counts whole packets as sound there, and writes no priming.
enum CAFPatch {
    static func apply(to sink: ByteSink, _ format: ResolvedFormat, _ facts: WrittenFacts) throws {
        guard let table = try CAF.chunks.first("pakt", in: sink) else { throw sink.malformed("no packet table in CAF") }
        let head = try sink.bytes(at: table, count: 24)
        guard head.count == 24 else { throw sink.malformed("CAF's packet table is truncated") }
        let scale = format.codec == .opus ? Int64(OpusHeader.rateHz / format.sampleRateHz) : 1
        let (sound, priming) = (facts.frames * scale, Int64(facts.delay) * scale)
        let coded = bigEndian(head[8..<16])
        guard coded >= sound + priming else {
            throw sink.malformed("CAF's packets hold fewer frames than were encoded")
        }
        try sink.patch(
            bigEndianBytes(sound, count: 8) + bigEndianBytes(priming, count: 4)
                + bigEndianBytes(coded - sound - priming, count: 4),
            at: table + 8
        )
    }
}
