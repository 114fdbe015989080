import Conversion

/// The chunks `bext` and `iXML` of WAV, in which recorders say where a recording is from, and when it was made.
///
/// They are kept as they are, apart from fields of `bext` that the output would contradict.
struct BroadcastChunks {
    private let bext: [UInt8]?
    private let iXML: [UInt8]?
    /// Whether there is a chunk `iXML`, of any length.
    private let hasIXML: Bool

    /// The fields of text in `bext`, by the tags that libav makes of them.
    private static let texts: [(tag: String, place: Range<Int>)] = [
        ("comment", 0..<256), ("encoded_by", 256..<288), ("originator_reference", 288..<320), ("date", 320..<330),
        ("creation_time", 330..<338),
    ]
    /// The number of frames between midnight and the start of the sound.
    private static let timeReference = 338..<346
    private static let version = 346..<348
    /// Five numbers of 16 bits, since version 2.
    private static let loudness = 412..<422
    /// What states no loudness.
    private static let noLoudness: [UInt8] = [0xFF, 0x7F]
    /// All fields, without the history of codings behind them.
    private static let leastBytes = 602
    /// Longer chunks stay behind.
    private static let mostBytes: Int64 = 1 << 20

    /// `nil` if the source has neither.
    init?(in source: ByteSource) {
        var (found, hasIXML): ([String: [UInt8]], Bool) = ([:], false)
        Chunks.riff.each(in: source) { name, place, size in
            if name.elementsEqual("iXML".utf8) { hasIXML = true }
            for wanted in ["bext", "iXML"] where found[wanted] == nil && name.elementsEqual(wanted.utf8) {
                guard (1...Self.mostBytes).contains(size), let bytes = source.bytes(at: place, count: Int(size)),
                    bytes.count == Int(size)
                else { continue }
                found[wanted] = bytes
            }
            return found.count < 2
        }
        bext = found["bext"].flatMap { $0.count < Self.leastBytes ? nil : $0 }
        iXML = found["iXML"]
        self.hasIXML = hasIXML
        if bext == nil, !hasIXML { return nil }
    }

    /// Those that are kept.
    var names: [String] { (bext == nil ? [] : ["bext"]) + (iXML == nil ? [] : ["iXML"]) }

    /// Whether libav makes a tag of this name of what `bext` holds and the INFO list does not.
    static func states(_ tag: String) -> Bool {
        ["originator_reference", "time_reference", "umid", "coding_history"].contains(tag.lowercased())
    }

    /// What of a source is in an output.
    struct Part {
        /// Where the sound of the output begins in the source; `nil` if it is all of the source.
        var start: MediaTime?
        var sourceRate: Int
        var outputRate: Int
        /// Whether the sound is as loud as it was: neither was its level changed, nor were its channels mixed.
        var isAsLoud: Bool
    }

    /// The chunks for an output. Fields whose tags are in `replaced` are left empty. `iXML` also states times, so an output
    /// of a part or at another rate has none.
    func chunks(for part: Part, replacing replaced: [String]) -> [FurtherChunks.Chunk] {
        let isSame = part.start == nil && part.sourceRate == part.outputRate
        var chunks: [FurtherChunks.Chunk] = []
        if let bext { chunks.append(.init(name: "bext", content: Self.adapted(bext, part, replaced))) }
        if let iXML, isSame { chunks.append(.init(name: "iXML", content: iXML)) }
        return chunks
    }

    /// The remark that an output lacks `iXML`; `nil` if it has it, or the source has none. `isSame` tells whether the output
    /// has all of the sound at the same rate.
    static func remark(_ reader: Reader, in container: Container, isSame: Bool, inStream: Bool) -> Remark? {
        guard reader.isSeekable, let chunks = reader.demuxer.rules.broadcast(in: reader.demuxer.source), chunks.hasIXML
        else { return nil }
        let reason: String
        if container != .wav {
            reason = "\(container.title) has no place for it"
        } else if inStream {
            reason = "a stream has no place for it"
        } else if !isSame {
            reason = "it states times of the whole source at its own rate"
        } else if chunks.iXML == nil {
            reason = "it is longer than 1 MiB"
        } else {
            return nil
        }
        return Remark(.tags, "the chunk iXML was not carried over: \(reason)", count: 1)
    }

    private static func adapted(_ chunk: [UInt8], _ part: Part, _ replaced: [String]) -> [UInt8] {
        let replaced = Set(replaced.map(TagTable.commonName(ofKey:)))
        var bytes = chunk
        for (tag, place) in texts where replaced.contains(TagTable.commonName(ofKey: tag)) {
            bytes.replaceSubrange(place, with: [UInt8](repeating: 0, count: place.count))
        }
        let frames = replaced.contains("time_reference") ? 0 : reference(littleEndian(chunk[timeReference]), part)
        if let frames { bytes.replaceSubrange(timeReference, with: bigEndianBytes(frames, count: 8).reversed()) }
        if littleEndian(chunk[version]) >= 2, part.start != nil || !part.isAsLoud {
            bytes.replaceSubrange(loudness, with: (0..<5).flatMap { _ in noLoudness })
        }
        return bytes
    }

    /// The same moment at the rate of the output; `nil` for a number that is none.
    private static func reference(_ frames: Int64, _ part: Part) -> Int64? {
        guard frames >= 0 else { return nil }
        let time = MediaTime(frames: frames, rate: part.sourceRate) + (part.start ?? .zero)
        return time.frames(atRate: part.outputRate).map { max(0, $0.frames) }
    }
}
