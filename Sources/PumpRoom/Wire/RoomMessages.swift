package import Conversion
import FoundationEssentials

/// A message from a slot to its room. A job's descriptors come with it: sources, then destinations.
package enum RoomRequest: Codable {
    /// Sent once, before any other message, without descriptors.
    case settle(RoomRules)
    /// With `streams`, the destination is not seekable, and there is only one. `album` is how loud the recipe's album is.
    case convert(job: Int64, recipe: Recipe, streams: Bool, album: AlbumLoudness?)
    /// Like `convert`, with the recipe of the last `convert` to this room. Most jobs differ from the job before them in
    /// their descriptors alone, because a message has no paths.
    case again(job: Int64, streams: Bool, album: AlbumLoudness?)
    /// Measures what a conversion of the recipe would encode, for its album. There are no destinations.
    case measure(job: Int64, recipe: Recipe)
    case probe(job: Int64, ProbeOptions)
    /// Sent right before the job: the slot fetches these of its sources, and their descriptors are shared memory.
    case windows(job: Int64, [WindowFacts])
    /// The answer to `wants` with that number: the memory begins with so many bytes. `nil` if they cannot be had.
    case filled(job: Int64, number: Int64, count: Int?)
    /// Ends the job: at once if it has not begun, within 50 ms if it has. Ignored if the job has already ended.
    case stop(job: Int64)
}

extension RoomRequest {
    /// The recipe that later `again` messages stand for; `nil` if the message changes nothing about it.
    var newRecipe: Recipe? { if case .convert(_, let recipe, _, _) = self { recipe } else { nil } }
}

/// A message from a room to its slot. For one job: at most one `begun`, then `progress` and `wants`, then `wrote` for each
/// output but the last or `pointed` for some of the points, then one of the last four.
package enum RoomReply: Codable {
    /// Sent once, when the room is locked and can take its first job.
    case hello(version: Int, build: String, level: RoomLevel)
    /// Sent before the room touches the job's descriptors. `spent` is what the room has used so far.
    case begun(job: Int64, spent: WireCost)
    case progress(job: Int64, ConversionProgress)
    /// Asks for bytes of a source that the slot fetches. The room asks again only after the answer.
    case wants(job: Int64, WindowQuestion)
    /// The report on the next of several outputs; sent when all of them are done.
    case wrote(job: Int64, ConversionReport)
    /// Some of the points of a description, in order; sent before it, because one message cannot hold all.
    case pointed(job: Int64, [SourcePoint])
    /// With the report on the last output, or on the only one.
    case converted(job: Int64, ConversionReport, WireCost)
    case measured(job: Int64, TrackMeasure, WireCost)
    /// Without its points, which were sent before.
    case described(job: Int64, SourceReport, WireCost)
    case failed(job: Int64, Failure, WireCost)
}

/// The version of these messages. Both ends are built together; a different number means that one of the two programs was
/// replaced.
package let wireVersion = 12

/// What work took, in whole numbers, so that a compromised room cannot cause an unnoticed overflow.
package struct WireCost: Codable, Hashable, Sendable {
    package var cpuMicroseconds: Int64
    package var peakBytes: Int64

    /// At most a century of processor time and an exbibyte. The slot rejects larger values as false.
    var isCredible: Bool {
        (0...3_155_760_000_000_000).contains(cpuMicroseconds) && (0...(1 << 60)).contains(peakBytes)
    }

    var cost: RoomCost { RoomCost(cpu: .microseconds(cpuMicroseconds), peakBytes: peakBytes) }
}

/// Messages as bytes: JSON, one message for each datagram.
package struct WireCoder {
    private let encoder = JSONEncoder()
    private let decoder = JSONDecoder()

    package init() {}

    /// Throws for numbers that JSON cannot write.
    package func bytes(_ message: some Encodable) throws -> [UInt8] { Array(try encoder.encode(message)) }

    package func message<Message: Decodable>(_ type: Message.Type, in bytes: [UInt8]) throws -> Message {
        try decoder.decode(type, from: Data(bytes))
    }
}

// MARK: - Comparing

extension Recipe {
    /// Whether it is equal to `other`, and its texts have the same bytes. Texts that differ only in their Unicode form are
    /// equal to Swift, and outputs have tags and titles in the form that the recipe has.
    func isWritten(like other: Recipe) -> Bool {
        self == other && texts.elementsEqual(other.texts) { $0.utf8.elementsEqual($1.utf8) }
    }

    /// The texts that outputs may have, in an order that is the same in equal recipes.
    private var texts: [String] {
        let ofTags = ([tags] + outputs.map(\.tags)).flatMap { tags in
            tags.sorted { $0.key < $1.key }.flatMap { [$0.key] + $0.value.all }
        }
        return ofTags + chapters.compactMap(\.title) + sources.flatMap { [$0.location, $0.name ?? ""] }
    }
}

// MARK: - Removing paths

extension Recipe {
    /// The recipe without its paths, which a room does not need: it works on descriptors. File extensions stay,
    /// because they help to recognise formats, and names of files that become titles of chapters.
    var withoutPlaces: Recipe {
        var recipe = self
        for index in recipe.sources.indices {
            recipe.sources[index].location = sourceName(sources[index].location)
        }
        for index in recipe.outputs.indices {
            let location = outputs[index].location
            // The recipe's own rules compare locations and refuse an output that is also a
            // source; they must still find it.
            let isSource = sources.contains { $0.location == location }
            // Several outputs must keep different locations.
            let output = index == 0 ? "output" : "output \(index + 1)"
            recipe.outputs[index].location = isSource ? sourceName(location) : Self.placeless(location, output)
        }
        return recipe
    }

    private func sourceName(_ location: String) -> String {
        guard markSources, let name = location.split(separator: "/").last else {
            return Self.placeless(location, "source")
        }
        // A file right below a root has the root before its name, as in `in:a.wav`.
        let root = location.contains("/") ? nil : name.firstIndex(of: ":")
        return "/" + (root.map { name[name.index(after: $0)...] } ?? name)
    }

    /// `name` with the extension of `location`, if it has one.
    static func placeless(_ location: String, _ name: String) -> String {
        guard !location.isEmpty else { return location }
        let last = location.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        guard let point = last.lastIndex(of: "."), point != last.startIndex else { return name }
        return name + last[point...]
    }
}
