import Conversion
import FoundationEssentials

/// What a slot says to its room. What is to be done comes with its descriptors: source, then destination.
enum RoomRequest: Codable {
    /// Said once, before anything else, without descriptors.
    case settle(RoomRules)
    /// With `streams`, into what cannot be gone back to.
    case convert(job: Int64, recipe: Recipe, streams: Bool)
    case probe(job: Int64, ProbeRequest)
    /// Ends the job: at once where it has not begun, within 50 ms where it has. A job that has ended is not known any more.
    case stop(job: Int64)
}

/// What is to be told of a source.
struct ProbeRequest: Codable {
    var nameHint: String?
    var raw: Recipe.RawDescription?
    var limits: Recipe.Limits
    var scans: Bool
    var fitsPresets: Bool
}

/// What a room says to its slot. About a job: at most one `begun`, then `progress`, then one of the last three.
enum RoomReply: Codable {
    /// Said once, when the room is locked and can take its first job.
    case hello(version: Int, level: RoomLevel)
    /// Said before the job's descriptors are touched. `spent` is what the room has used so far.
    case begun(job: Int64, spent: WireCost)
    case progress(job: Int64, ConversionProgress)
    case converted(job: Int64, ConversionReport, WireCost)
    case described(job: Int64, SourceReport, WireCost)
    case failed(job: Int64, Failure, WireCost)
}

/// The version of these messages. Both ends are one binary; another number means that it was exchanged in between.
let wireVersion = 3

/// What work took, in whole numbers that a liar cannot make overflow unseen.
struct WireCost: Codable, Hashable {
    var cpuMicroseconds: Int64
    var peakBytes: Int64

    /// A century of processor time, an exabyte: more is a lie.
    var isCredible: Bool {
        (0...3_155_760_000_000_000).contains(cpuMicroseconds) && (0...(1 << 60)).contains(peakBytes)
    }

    var cost: RoomCost { RoomCost(cpu: .microseconds(cpuMicroseconds), peakBytes: peakBytes) }
}

/// Messages as bytes: JSON, one message for each datagram.
struct WireCoder {
    private let encoder = JSONEncoder()
    private let decoder = JSONDecoder()

    /// Throws for numbers that JSON cannot write.
    func bytes(_ message: some Encodable) throws -> [UInt8] { Array(try encoder.encode(message)) }

    func message<Message: Decodable>(_ type: Message.Type, in bytes: [UInt8]) throws -> Message {
        try decoder.decode(type, from: Data(bytes))
    }
}

// MARK: - What may leave

extension Recipe {
    /// The recipe without a word of where anything lies: a room works on descriptors. Extensions stay, they have a meaning.
    var withoutPlaces: Recipe {
        var recipe = self
        for index in recipe.sources.indices {
            recipe.sources[index].location = Self.placeless(sources[index].location, "source")
        }
        for index in recipe.outputs.indices {
            // An output that is a source is refused by the recipe's own rules, which go by the names.
            let isSource = sources.contains { $0.location == outputs[index].location }
            recipe.outputs[index].location = Self.placeless(outputs[index].location, isSource ? "source" : "output")
        }
        return recipe
    }

    /// A name with the extension of `location`, or just the name.
    static func placeless(_ location: String, _ name: String) -> String {
        guard !location.isEmpty else { return location }
        let last = location.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard let point = last.lastIndex(of: "."), point != last.startIndex else { return name }
        return name + last[point...]
    }
}
