import Conversion
import FoundationEssentials
import Records

/// Which formats fit a source that a client has probed.
enum CompatibilityOperation {
    /// The fields of a track that decide. A track has others, which do not.
    private static let fields: [Schema.Field] = [
        .must("codec", .text(1...100), ""), .must("sampleRateHz", .whole(0...100_000_000), ""),
        .must("channelCount", .whole(0...1_024), ""), .may("layout", .text(1...100), ""),
        .may("bitDepth", .whole(1...64), ""), .may("sampleKind", .choice(SampleKind.allCases.map(\.rawValue)), ""),
        .must("isLossless", .truth, ""), .must("isProtected", .truth, ""),
    ]

    static let value = Operation(
        name: "checkCompatibility",
        method: .post,
        path: "/api/v1/compatibility",
        summary: "which presets and formats fit a source, what its sound would lose, and why others do not fit",
        access: .readers,
        body: .json(
            .object([
                .must("description", .map(.anything), "of the source, as \"sluice probe --json\" prints it"),
                .may("track", .whole(0...1_000_000), "the number of a track; without it, the main one"),
                // The rest of what the command prints.
                .may("source", .text(0...10_000), "of no effect"), .may("bytes", .whole(), "of no effect"),
            ])
        ),
        answer: .object([
            .must("presets", .list(Shapes.presetFit), "all, in the order of the list of presets"),
            .must("formats", .list(Shapes.formatFit), "each container with each codec, and with packets as they are"),
        ])
    ) { call in
        let facts = try facts(call.body?.members ?? [:])
        struct Answer: Encodable {
            let presets: [PresetFitRecord]
            let formats: [FormatFitRecord]
        }
        let presets = Preset.all.map { PresetFitRecord($0, facts) }
        let formats = Container.allCases.flatMap { container in
            (FormatTable.codecs(for: container) + [.copy]).map { FormatFitRecord(container, $0, facts) }
        }
        return try .json(Answer(presets: presets, formats: formats))
    }

    private static func facts(_ members: [String: JSONValue]) throws(Problem) -> SourceFacts {
        let tracks = members["description"]?.members?["tracks"]?.items ?? []
        let wanted = members["track"]?.whole
        let place = tracks.firstIndex { track in
            guard let wanted else { return track.members?["isMain"]?.truth == true }
            return track.members?["track"]?.whole == wanted
        }
        guard let place, let track = tracks[place].members else {
            throw refusal("/description/tracks", "has no \(wanted.map { "track \($0)" } ?? "main track")")
        }
        let known = track.filter { name, value in fields.contains { $0.name == name } && !value.isNothing }
        let mistakes = Schema.object(fields).mistakes(in: .object(known))
        guard mistakes.isEmpty else {
            let pointer = "/description/tracks/\(place)"
            throw Problem(.badBody, mistakes: mistakes.map { .init(pointer: pointer + $0.pointer, detail: $0.detail) })
        }
        let channels = Int(track["channelCount"]?.whole ?? 0)
        let layout = track["layout"]?.text.flatMap(ChannelLayout.init)
        guard track["layout"]?.text == nil || layout?.channelCount == channels else {
            throw refusal("/description/tracks/\(place)/layout", "is no layout of \(channels) channels")
        }
        let (codec, isLossless) = (track["codec"]?.text ?? "", track["isLossless"]?.truth ?? false)
        let lossy = ReadableFormats.depth(ofLossy: codec)
        let shape = AudioShape(
            sampleRateHz: Int(track["sampleRateHz"]?.whole ?? 0),
            channelCount: channels,
            layout: layout,
            bitDepth: track["bitDepth"]?.whole.map { Int($0) } ?? lossy.bits,
            sampleKind: track["sampleKind"]?.text.flatMap(SampleKind.init(rawValue:)) ?? lossy.kind,
            codecName: codec,
            isLossless: isLossless
        )
        return SourceFacts(
            shape,
            isProtected: track["isProtected"]?.truth ?? false,
            fourCC: codec,
            isDecoded: ReadableFormats.reads(codec: codec)
        )
    }

    private static func refusal(_ pointer: String, _ detail: String) -> Problem {
        Problem(.badBody, mistakes: [.init(pointer: pointer, detail: detail)])
    }
}
