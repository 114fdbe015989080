import Conversion
import FoundationEssentials
import Ledger

/// Which formats fit a source that a client has probed.
enum CompatibilityOperation {
    /// The fields of a track that decide. A track has others, which do not.
    private static let fields: [Schema.Field] = [
        .must("codec", .text(1...100), "its codec"), .must("sampleRateHz", .whole(0...100_000_000), "its sample rate"),
        .must("channelCount", .whole(0...1_024), "how many channels it has"),
        .may("layout", .text(1...100), "the names of its channels"),
        .may("bitDepth", .whole(1...64), "bits of a sample, if the codec keeps whole samples"),
        .may("sampleKind", .choice(SampleKind.allCases.map(\.rawValue)), "how samples are stored"),
        .must("isLossless", .truth, "whether its codec restores the samples that it was given"),
        .must("isProtected", .truth, "whether it is encrypted"),
    ]

    static let value = Operation(
        name: "checkCompatibility",
        method: .post,
        path: "/api/v1/compatibility",
        summary: "which presets and formats fit a source, what the output would lose, and why others do not fit",
        access: .readers,
        body: .json(
            .object([
                .must("description", .map(.anything), "of the source, as \"sluice probe --json\" prints it"),
                .may("track", .whole(0...1_000_000), "the number of a track; without it, the main one"),
                // The rest of what the command prints.
                .may("source", .text(0...10_000), "of no effect"), .may("bytes", .whole(), "of no effect"),
            ])
        ),
        // With the chapters of a long book.
        bodyLimit: 512 << 10,
        answer: Shapes.compatibility
    ) { call in
        let facts = try facts(call.body?.members ?? [:])
        let extras = try extras(call.body?.members?["description"]?.members ?? [:])
        let presets = Preset.all.map { PresetFitRecord($0, facts, extras) }
        let formats = Container.allCases.flatMap { container in
            (FormatTable.codecs(for: container) + [.copy]).map { FormatFitRecord(container, $0, facts, extras) }
        }
        return try .json(JSONRecord(CompatibilityRecord(presets: presets, formats: formats)))
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
        let layout = track["layout"]?.text
        guard layout == nil || layout.flatMap(ChannelLayout.init)?.channelCount == channels else {
            throw refusal("/description/tracks/\(place)/layout", "is no layout of \(channels) channels")
        }
        // The rest decides nothing.
        return SourceFacts(
            TrackReport(
                track: 0,
                isMain: true,
                codec: track["codec"]?.text ?? "",
                sampleRateHz: Int(track["sampleRateHz"]?.whole ?? 0),
                channelCount: channels,
                layout: layout,
                bitDepth: track["bitDepth"]?.whole.map { Int($0) },
                sampleKind: track["sampleKind"]?.text.flatMap(SampleKind.init(rawValue:)),
                isLossless: track["isLossless"]?.truth ?? false,
                bitRate: nil,
                frames: nil,
                exactness: .unknown,
                delayFrames: nil,
                paddingFrames: nil,
                isProtected: track["isProtected"]?.truth ?? false
            )
        )
    }

    /// What decides about tags, cover and chapters. A description has more of each, which does not.
    private static func extras(_ description: [String: JSONValue]) throws(Problem) -> SourceExtras {
        let shape = Schema.object([
            // Each fit names them, so an answer is many times as long as they are. The command lists up to 64.
            .may("tags", .list(.map(.anything), most: 200), "its tags"),
            .may("chapters", .list(.anything, most: 100_000), "its chapters"),
        ])
        let known = description.filter { name, value in ["tags", "chapters"].contains(name) && !value.isNothing }
        let mistakes = shape.mistakes(in: .object(known))
        guard mistakes.isEmpty else {
            throw Problem(
                .badBody,
                mistakes: mistakes.map { .init(pointer: "/description" + $0.pointer, detail: $0.detail) }
            )
        }
        // Of more tags than fit, a description says how many in a tag that is none.
        let tags = (known["tags"]?.items ?? []).filter { $0.members?["isTechnical"]?.truth != true }
        return SourceExtras(
            // As long as the command prints one.
            tags: tags.compactMap { $0.members?["name"]?.text }.filter { $0.utf8.count <= 200 },
            hasCover: description["cover"].map { !$0.isNothing } ?? false,
            hasChapters: known["chapters"]?.items?.isEmpty == false
        )
    }

    private static func refusal(_ pointer: String, _ detail: String) -> Problem {
        Problem(.badBody, mistakes: [.init(pointer: pointer, detail: detail)])
    }
}
