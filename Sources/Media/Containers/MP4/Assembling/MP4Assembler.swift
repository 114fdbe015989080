/// Writes an MP4 without keeping its index in memory. The samples go straight to the output and their sizes are stored
/// compactly. libav's own `moov`, made from only the first and the last packet, then gets the true sample tables.
///
/// libav 5.1 keeps about seventy bytes per packet: a hundred megabytes for ten hours of AAC.
struct MP4Assembler {
    private var sizes: SampleSizes
    /// Runs of samples with the same duration, as `stts` stores them.
    private var durations: [(count: Int64, ticks: Int64)] = []
    private var sampleBytes: Int64 = 0
    private var ticks: Int64 = 0
    private let mediaStart: Int64
    private let rollDistance: Int?
    private let timescale: Int

    /// Samples per chunk: about a second of audio, for players that read chunk by chunk.
    private static let chunkSamples = 48
    private static let mdatHeaderBytes: Int64 = 16

    /// Writes everything before the samples. `rollDistance` is the number of samples that a decoder
    /// needs to reach a correct state.
    init(
        ftyp: [UInt8],
        to sink: ByteSink,
        timescale: Int,
        rollDistance: Int?,
        sizes: SampleSizes = SampleSizes()
    ) throws {
        self.sizes = sizes
        try sink.append(ftyp)
        mediaStart = sink.position
        self.timescale = timescale
        self.rollDistance = rollDistance
        // A 64-bit size, filled in at the end.
        try sink.append(bigEndianBytes(1, count: 4) + Array("mdat".utf8) + bigEndianBytes(0, count: 8))
    }

    mutating func append(_ sample: UnsafeRawBufferPointer, duration: Int64, to sink: ByteSink) throws {
        // A chunk must be contiguous, so sizes are parked between two chunks.
        if sizes.count % Int64(Self.chunkSamples) == 0, let block = sizes.blockToPark() {
            sizes.park(block, at: sink.position)
            try sink.append(block)
        }
        try sink.append(sample)
        sizes.append(sample.count)
        sampleBytes += Int64(sample.count)
        ticks += duration
        if let last = durations.last, last.ticks == duration {
            durations[durations.count - 1].count += 1
        } else {
            durations.append((1, duration))
        }
    }

    /// Writes the index: libav's `moov`, with the tables of all samples. If there are `parts`, in ticks, they alone are played.
    func finish(_ moov: [UInt8], to sink: ByteSink, playing parts: [Range<Int64>] = []) throws {
        try sink.flush()
        let mediaEnd = sink.size
        try sink.patch(bigEndianBytes(mediaEnd - mediaStart, count: 8), at: mediaStart + 8)
        guard var tree = BoxTree.parse(moov[...])?.first, tree.name == "moov" else {
            throw sink.malformed("libav's moov cannot be read")
        }
        try replaceTables(in: &tree, sink)
        if !parts.isEmpty, !PlayedParts(parts: parts).apply(to: &tree, timescale: timescale) {
            throw sink.malformed("libav's moov has no place for an edit list")
        }
        // A `moov` beyond 4 GB would take centuries of audio.
        var pending: [UInt8] = []
        try tree.write { bytes in
            pending += bytes
            if pending.count >= 64 * 1024 {
                try sink.append(pending)
                pending.removeAll(keepingCapacity: true)
            }
        }
        try sink.append(pending)
    }

    private func replaceTables(in moov: inout BoxTree, _ sink: ByteSink) throws {
        let stbl = ["trak", "mdia", "minf", "stbl"]
        let found = moov.change(stbl[...]) { table in
            guard case .boxes(let boxes) = table.content else { return }
            table.content = .boxes(
                boxes.filter { !["sgpd", "sbgp"].contains($0.name) }.map { box in
                    switch box.name {
                    case "stsd": stsd(box)
                    case "stts": stts
                    case "stsc": stsc
                    case "stsz": stsz(sink)
                    case "stco", "co64": chunkOffsets(sink)
                    default: box
                    }
                } + rollGroups
            )
        }
        guard found else { throw sink.malformed("libav's moov has no sample tables") }
    }

    // MARK: Tables

    private var stts: BoxTree {
        let runs = durations.flatMap { bigEndianBytes($0.count, count: 4) + bigEndianBytes($0.ticks, count: 4) }
        return BoxTree(name: "stts", content: .bytes(head(Int64(durations.count)) + runs))
    }

    private var stsc: BoxTree {
        let (whole, rest) = sizes.count.quotientAndRemainder(dividingBy: Int64(Self.chunkSamples))
        var runs: [(first: Int64, samples: Int64)] = []
        if whole > 0 { runs.append((1, Int64(Self.chunkSamples))) }
        if rest > 0 { runs.append((whole + 1, rest)) }
        let entries = runs.flatMap {
            bigEndianBytes($0.first, count: 4) + bigEndianBytes($0.samples, count: 4) + bigEndianBytes(1, count: 4)
        }
        return BoxTree(name: "stsc", content: .bytes(head(Int64(runs.count)) + entries))
    }

    private func stsz(_ sink: ByteSink) -> BoxTree {
        if sizes.count == 1 {
            // One size for all samples: libav takes a single one-frame sample for PCM, and reads only this field.
            let size = bigEndianBytes(sampleBytes, count: 4)
            return BoxTree(name: "stsz", content: .bytes([0, 0, 0, 0] + size + bigEndianBytes(1, count: 4)))
        }
        let (sizes, head) = (sizes, bigEndianBytes(0, count: 8) + bigEndianBytes(sizes.count, count: 4))
        return BoxTree(
            name: "stsz",
            content: .stream(12 + 4 * sizes.count) { emit in
                try emit(head)
                try sizes.forEach(sink.bytes) { try emit(bigEndianBytes(Int64($0), count: 4)) }
            }
        )
    }

    private func chunkOffsets(_ sink: ByteSink) -> BoxTree {
        let isWide = sink.size > Int64(UInt32.max)
        let width = isWide ? 8 : 4
        let chunks = (sizes.count + Int64(Self.chunkSamples) - 1) / Int64(Self.chunkSamples)
        let (sizes, head, start) = (sizes, head(chunks), mediaStart + Self.mdatHeaderBytes)
        return BoxTree(
            name: isWide ? "co64" : "stco",
            content: .stream(8 + Int64(width) * chunks) { emit in
                try emit(head)
                var (place, sample) = (start, 0)
                var gaps = sizes.gaps[...]
                try sizes.forEach(sink.bytes) { size in
                    if sample % Self.chunkSamples == 0 {
                        if let gap = gaps.first, gap.place == place {
                            place += Int64(gap.bytes)
                            gaps = gaps.dropFirst()
                        }
                        try emit(bigEndianBytes(place, count: width))
                    }
                    place += Int64(size)
                    sample += 1
                }
            }
        )
    }

    /// How many samples earlier a decoder must start: one group for all samples that have enough samples before them.
    private var rollGroups: [BoxTree] {
        guard let rollDistance, sizes.count > Int64(rollDistance) else { return [] }
        // AAC's first samples lie in the priming, so they need none before them.
        let bare = rollDistance > 1 ? Int64(rollDistance) : 0
        let roll = Array("roll".utf8)
        let description =
            [1, 0, 0, 0] + roll + bigEndianBytes(2, count: 4) + bigEndianBytes(1, count: 4)
            + bigEndianBytes(-Int64(rollDistance), count: 2)
        var runs: [(count: Int64, group: Int64)] = []
        if bare > 0 { runs.append((bare, 0)) }
        runs.append((sizes.count - bare, 1))
        let members = runs.flatMap { bigEndianBytes($0.count, count: 4) + bigEndianBytes($0.group, count: 4) }
        return [
            BoxTree(name: "sgpd", content: .bytes(description)),
            BoxTree(
                name: "sbgp",
                content: .bytes(
                    bigEndianBytes(0, count: 4) + roll + bigEndianBytes(Int64(runs.count), count: 4) + members
                )
            ),
        ]
    }

    /// Replaces the bit rates, which libav computed from the packets it saw, with the true average.
    private func stsd(_ box: BoxTree) -> BoxTree {
        guard case .bytes(var bytes) = box.content, ticks > 0 else { return box }
        let average = sampleBytes * 8 * Int64(timescale) / ticks
        if let esds = find("esds", in: bytes), esds + 30 <= bytes.count, bytes[esds + 4] == 3, bytes[esds + 12] == 4 {
            replace(&bytes, esds + 26, average)
        }
        if let btrt = find("btrt", in: bytes), btrt + 12 <= bytes.count { replace(&bytes, btrt + 8, average) }
        return BoxTree(name: box.name, content: .bytes(bytes))
    }

    /// The index at which the content of the named box begins.
    private func find(_ name: String, in bytes: [UInt8]) -> Int? {
        let wanted = Array(name.utf8)
        guard bytes.count >= 4 else { return nil }
        return (0...(bytes.count - 4)).first { bytes[$0..<($0 + 4)].elementsEqual(wanted) }.map { $0 + 4 }
    }

    private func replace(_ bytes: inout [UInt8], _ place: Int, _ value: Int64) {
        bytes.replaceSubrange(place..<(place + 4), with: bigEndianBytes(value, count: 4))
    }

    /// Version and flags, all zero, then the number of entries.
    private func head(_ entries: Int64) -> [UInt8] { [0, 0, 0, 0] + bigEndianBytes(entries, count: 4) }
}
