import Conversion
import TestSupport

@testable import Media

/// The result of reading a source whose sample tables are walked here, next to the result when libav reads all of them.
struct WalkedBothWays {
    let walked: Outcome
    let whole: Outcome
    /// The streams of which libav saw only the first and last samples.
    let walkedStreams: [Int]

    /// Every observable result of a read.
    struct Outcome: Equatable {
        var description: SourceDescription?
        /// The packets of the main track; `packetEnd` is how they ended.
        var packets: [PacketRecord] = []
        var packetEnd: String?
        var error: String?
        /// The positions of blocks and the bits of samples.
        var readouts: [ByteString] = []
        var accounts: [DamageAccount] = []
        var ends: [String] = []
    }

    struct PacketRecord: Equatable {
        let time: Int64?
        let decodingTime: Int64?
        let duration: Int64
        let marks: Int32
        let place: Int64?
        let skip: [Int]?
        let bytes: ByteString
    }

    /// Rules for tables of a few dozen samples, of which libav sees `head` at the start and `tail` at the end.
    static func rules(head: Int64 = 16, tail: Int64 = 3, longest: Int64 = 1 << 30) -> SampleTableRules {
        SampleTableRules(
            leastSamples: 1,
            headSamples: head,
            headSeconds: 0,
            tailSamples: tail,
            longestStandIn: longest
        )
    }

    init(_ bytes: [UInt8], _ rules: SampleTableRules = rules(), modes: [DamageMode] = [.strict, .conceal]) throws {
        let folder = try TemporaryFolder.create()
        let path = folder.path("a.m4a")
        try Bytes.write(bytes, to: path)
        self = try Self.file(path, rules, modes: modes)
    }

    static func file(
        _ path: String,
        _ rules: SampleTableRules = rules(),
        track: Int? = nil,
        modes: [DamageMode] = [.strict, .conceal]
    ) throws -> WalkedBothWays {
        let (walked, streams) = try outcome(path, rules, track, modes)
        let (whole, none) = try outcome(path, .never, track, modes)
        guard none.isEmpty else { throw SupportError("read by libav alone", "streams \(none) were walked") }
        return WalkedBothWays(walked: walked, whole: whole, walkedStreams: streams)
    }

    private init(walked: Outcome, whole: Outcome, walkedStreams: [Int]) {
        (self.walked, self.whole, self.walkedStreams) = (walked, whole, walkedStreams)
    }

    /// The first difference; `nil` if there is none.
    var difference: String? {
        if walked == whole { return nil }
        if walked.description != whole.description {
            return "described as \(walked.description as Any), not \(whole.description as Any)"
        }
        for (number, (mine, theirs)) in zip(walked.packets, whole.packets).enumerated() where mine != theirs {
            return "packet \(number): \(mine.short), not \(theirs.short)"
        }
        if walked.packets.count != whole.packets.count || walked.packetEnd != whole.packetEnd {
            return "\(walked.packets.count) packets, \(walked.packetEnd ?? "-"), not \(whole.packets.count), "
                + "\(whole.packetEnd ?? "-")"
        }
        return "\(walked.error ?? "-") \(walked.ends) \(walked.accounts) \(walked.readouts.map(\.count)), not "
            + "\(whole.error ?? "-") \(whole.ends) \(whole.accounts) \(whole.readouts.map(\.count))"
    }

    // MARK: One way

    private static func outcome(
        _ path: String,
        _ rules: SampleTableRules,
        _ track: Int?,
        _ modes: [DamageMode]
    ) throws -> (Outcome, [Int]) {
        var (outcome, streams) = (Outcome(), [Int]())
        let file = try OpenFile.reading(path)
        func options(_ mode: DamageMode) -> Reader.Options {
            var options = Reader.Options(nameHint: "a.m4a", damage: mode)
            options.sampleTables = rules
            return options
        }
        do {
            let reader = try Reader(descriptor: file.descriptor, options: options(.strict))
            outcome.description = reader.description
            streams = reader.demuxer.walks.keys.sorted()
            let index = try reader.track(track).index
            reader.demuxer.select(index)
            try outcome.readPackets(reader.demuxer, index)
            for mode in modes {
                let reader = try Reader(descriptor: file.descriptor, options: options(mode))
                try outcome.readSamples(reader, reader.track(track))
            }
        } catch let error as MediaError {
            outcome.error = error.description
        }
        return (outcome, streams)
    }
}

extension WalkedBothWays.Outcome {
    fileprivate mutating func readPackets(_ demuxer: Demuxer, _ stream: Int) throws {
        var packet = try Packet()
        do {
            // Past the end of the bytes, libav tries the following samples, one at each call.
            for _ in 0..<2 {
                while try demuxer.read(into: &packet, of: stream) { packets.append(.init(packet)) }
            }
            packetEnd = "end"
        } catch let error as LibAVError {
            packetEnd = "\(error.operation) \(error.name)"
        }
    }

    fileprivate mutating func readSamples(_ reader: Reader, _ track: Track) throws {
        let output = try reader.samples(of: track)
        var block = try SampleBlock()
        var samples = ByteString()
        do {
            while try output.next(into: &block) {
                samples.append(block.position)
                block.withPlane(0) { samples.append($0) }
            }
            ends.append("end")
        } catch let error as MediaError {
            ends.append(error.description)
        }
        readouts.append(samples)
        accounts.append(output.damage)
    }
}

extension WalkedBothWays.PacketRecord {
    fileprivate init(_ packet: borrowing Packet) {
        time = packet.timestamp
        decodingTime = packet.decodingTime
        duration = packet.duration
        marks = packet.marks
        place = packet.place
        skip = packet.hasSkip ? [packet.skip.start, packet.skip.end] : nil
        bytes = packet.withBytes { ByteString($0) }
    }

    fileprivate var short: String {
        "at \(time ?? -1) (\(decodingTime ?? -1)) for \(duration), marks \(marks), byte \(place ?? -1), "
            + "skip \(skip ?? []), \(bytes.count) bytes"
    }
}
