import TestSupport

@testable import Media

/// The sample tables of the only track in an MP4 whose `moov` is the last box. They can be changed and written back.
struct MP4Tables {
    /// The original file.
    private let bytes: [UInt8]
    private let moov: Int
    private let tree: BoxTree
    let sizes: [Int]
    let durations: [Int]
    let places: [Int]

    private static let stbl = ["trak", "mdia", "minf", "stbl"]

    init(_ bytes: [UInt8]) throws {
        self.bytes = bytes
        func content(_ name: String) throws -> Int {
            guard let place = Bytes.find(name, in: bytes, from: Bytes.find("stbl", in: bytes) ?? 0) else {
                throw SupportError("find \(name)", "it is not there")
            }
            return place + 4
        }
        func number(_ name: String, _ word: Int) throws -> Int {
            Int(try Bytes.big(UInt32.self, in: bytes, at: content(name) + 4 * word))
        }
        guard let place = Bytes.find("moov", in: bytes), let tree = BoxTree.parse(bytes[(place - 4)...])?.first else {
            throw SupportError("read an MP4", "moov is not the last box")
        }
        (moov, self.tree) = (place - 4, tree)
        let count = try number("stsz", 2)
        let sizes = try (0..<count).map { try number("stsz", 3 + $0) }
        var durations: [Int] = []
        for run in 0..<(try number("stts", 1)) {
            let count = try number("stts", 2 + 2 * run)
            durations += Array(repeating: try number("stts", 3 + 2 * run), count: count)
        }
        self.durations = durations
        var places: [Int] = []
        let chunks = try number("stco", 1)
        for run in 0..<(try number("stsc", 1)) {
            let last = try run + 1 < number("stsc", 1) ? number("stsc", 5 + 3 * run) : chunks + 1
            for chunk in try number("stsc", 2 + 3 * run)..<last {
                var place = try number("stco", 1 + chunk)
                for _ in 0..<(try number("stsc", 3 + 3 * run)) {
                    places.append(place)
                    place += sizes[places.count - 1]
                }
            }
        }
        self.sizes = sizes
        self.places = places
        guard durations.count == count, places.count == count else {
            throw SupportError("read an MP4", "\(durations.count) times, \(places.count) places, \(count) samples")
        }
    }

    /// The same sound under other tables. The numbers of samples per chunk cycle through `perChunk`.
    func written(
        durations: [Int]? = nil,
        sizes: [Int]? = nil,
        places: [Int]? = nil,
        perChunk: [Int] = [1],
        isWide: Bool = false,
        joinsRuns: Bool = true
    ) throws -> [UInt8] {
        let (durations, sizes, places) = (durations ?? self.durations, sizes ?? self.sizes, places ?? self.places)
        var runs: [(count: Int, ticks: Int)] = []
        for ticks in durations {
            if joinsRuns, let last = runs.last, last.ticks == ticks {
                runs[runs.count - 1].count += 1
            } else {
                runs.append((1, ticks))
            }
        }
        var (offsets, chunkRuns, sample) = ([Int](), [(first: Int, count: Int)](), 0)
        while sample < sizes.count {
            let count = min(perChunk[offsets.count % perChunk.count], sizes.count - sample)
            offsets.append(places[sample])
            if chunkRuns.last?.count != count { chunkRuns.append((offsets.count, count)) }
            sample += count
        }
        return try with { box in
            switch box.name {
            case "stts": Self.box("stts", [0, runs.count] + runs.flatMap { [$0.count, $0.ticks] })
            case "stsz": Self.box("stsz", [0, 0, sizes.count] + sizes)
            case "stsc": Self.box("stsc", [0, chunkRuns.count] + chunkRuns.flatMap { [$0.first, $0.count, 1] })
            case "stco":
                isWide
                    ? Self.box("co64", [0, offsets.count] + offsets.flatMap { [$0 >> 32, $0 & 0xFFFF_FFFF] })
                    : Self.box("stco", [0, offsets.count] + offsets)
            default: box
            }
        }
    }

    /// Repeats `samples`, all of the same duration, `times` times: all chunks point to the same place.
    func looped(samples: Range<Int>, times: Int) throws -> [UInt8] {
        let (count, ticks) = (samples.count * times, durations[samples.lowerBound])
        func repeated(_ numbers: some Sequence<Int>) -> [UInt8] {
            Bytes.repeated(numbers.flatMap { bigEndianBytes(Int64($0), count: 4) }, times: times)
        }
        var bytes = try with { box in
            switch box.name {
            case "stts": Self.box("stts", [0, 1, count, ticks])
            case "stsz":
                BoxTree(
                    name: "stsz",
                    content: .bytes(bigEndianBytes(Int64(count), count: 12) + repeated(sizes[samples]))
                )
            case "stsc": Self.box("stsc", [0, 1, 1, samples.count, 1])
            case "stco":
                BoxTree(
                    name: "stco",
                    content: .bytes(bigEndianBytes(Int64(times), count: 8) + repeated([places[samples.lowerBound]]))
                )
            default: box
            }
        }
        let header = Bytes.find("mdhd", in: bytes, from: moov)! + 4
        bytes.replaceSubrange((header + 16)..<(header + 20), with: bigEndianBytes(Int64(count * ticks), count: 4))
        return bytes
    }

    private func with(_ change: (BoxTree) -> BoxTree) throws -> [UInt8] {
        var changed = tree
        _ = changed.change(Self.stbl[...]) { table in
            guard case .boxes(let boxes) = table.content else { return }
            table.content = .boxes(boxes.map(change))
        }
        return Array(bytes[..<moov]) + (try Self.serialised(changed))
    }

    private static func box(_ name: String, _ words: [Int]) -> BoxTree {
        BoxTree(name: name, content: .bytes(words.flatMap { bigEndianBytes(Int64($0), count: 4) }))
    }

    private static func serialised(_ tree: BoxTree) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try tree.write { bytes += $0 }
        return bytes
    }
}
