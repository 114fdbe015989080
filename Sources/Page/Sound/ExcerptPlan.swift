import API
import Conversion
import FoundationEssentials
import Hashing
import Ledger

/// The excerpts by which browsers hear a part of the source and of the output of a job: where they are, and how they are made.
///
/// Both sides of a part begin at the same time and have the same rate, so that they can be compared sample by sample.
struct ExcerptPlan: Sendable {
    /// A file of the job that is heard.
    enum Side: String, Sendable, CaseIterable { case source, output }

    /// The queue of the jobs that make excerpts. The ledger limits it to a share of the slots when it has its first job.
    static let queue = "excerpts"
    /// The most of them that may wait.
    static let mostWaiting = 20
    /// For how long an excerpt is served: a source that was changed meanwhile is then heard as it is. The file is removed
    /// later (`ExcerptSweeper`).
    static let kept: TimeInterval = 7 * 86_400
    /// The length of a part, in seconds. The last one may be up to 30 s longer or shorter.
    static let partLength = 600
    private static let shortestPart = 30
    /// The most of a sound whose length is not known, in seconds.
    static let mostSeconds = 900

    let sides: [Side]
    /// How many parts there are.
    let parts: Int
    /// From 0.
    let part: Int
    /// Whether the output has the sound of the source at the same time.
    let isAligned: Bool
    private let job: Int64
    private let recipe: Recipe
    /// The length of what is heard; `nil` if it is not known.
    private let length: MediaTime?
    /// The same in frames of the file, if the job has read all of it.
    private let frames: Int64?
    /// Whether the sound beyond that length may be damaged.
    private let endsThere: Bool
    /// The sample rate of all sides; `nil`: that of the file, if browsers play it.
    private let rate: Int?
    /// What the files are told apart by, besides their places.
    private let identities: [Side: String]
    private let base: String

    /// The part of a job's sound; the nearest one if there is none with that number. `nil` if nothing of it can be heard.
    ///
    /// `base` is what the locations of excerpts begin with, and `reads` what those of sources may begin with.
    init?(_ story: JobStory, base: String, reads: [String]? = nil, part: Int = 0) {
        // `try?`: a recipe of a newer version says where its files are in words that this build does not know.
        guard story.summary.queue != Self.queue, let recipe = try? Recipe(json: story.recipe) else { return nil }
        let report = story.attempts.last { $0.outcome == .completed }?.facts.report
        func mayRead(_ location: String) -> Bool { reads?.contains { location.hasPrefix($0) } ?? true }

        var identities: [Side: String] = [:]
        let isWhole = recipe.soundSources.count == 1 && recipe.sources[0].ranges.isEmpty
        if recipe.timeline == nil, recipe.soundSources.count == 1, mayRead(recipe.sources[0].location) {
            let found = report?.source
            // What the job has found out about its source: another file at this place has another description.
            let facts = found.map { "\($0.codec) \($0.sampleRateHz) \($0.channelCount) \($0.frames)" } ?? "unknown"
            identities[.source] = isWhole ? facts : "unknown"
        }
        if let output = recipe.outputs.first, output.waveform == nil, story.summary.state == .completed,
            let digest = story.summary.digest, mayRead(output.location),
            // Nothing in such a file says what it is.
            report?.format.container != .raw
        {
            identities[.output] = digest
        }
        let isAligned =
            isWhole && recipe.timeline == nil && recipe.outputs.first?.range == nil && !recipe.damage.movesSound
        // Other times of the output say nothing about the source.
        if !isAligned, identities[.source] != nil { identities[.output] = nil }
        guard !identities.isEmpty else { return nil }

        var (length, count): (MediaTime?, Int64?) = (nil, nil)
        var endsThere = false
        var rate: Int?
        func take(_ frames: Int64, _ found: Int) {
            guard found > 0 else { return }
            (length, rate) = (MediaTime(value: frames, timescale: Int32(clamping: found)), min(found, Self.highestRate))
            count = frames
        }
        let scan = story.attempts.last?.facts.scan
        if identities[.source] == nil {
            if let report { take(report.writtenFrames, report.format.sampleRateHz) }
        } else if isWhole, let report {
            take(report.source.frames, report.source.sampleRateHz)
        } else if isWhole, let scan, let sound = scan.sound {
            take(scan.frames, sound.sampleRateHz)
        } else if let position = story.attempts.last?.failure?.position, position > .zero {
            // As far as the sound was read.
            (length, endsThere) = (position, true)
        }
        let parts = length.map { Self.parts(of: $0.seconds) } ?? 1
        sides = Side.allCases.filter { identities[$0] != nil }
        (self.parts, self.part, self.isAligned) = (parts, min(max(0, part), parts - 1), isAligned)
        (self.job, self.recipe, self.base, self.identities) = (story.summary.job, recipe, base, identities)
        (self.length, self.frames, self.endsThere, self.rate) = (length, count, endsThere, rate)
    }

    private static func parts(of seconds: Double) -> Int {
        guard seconds.isFinite, seconds < 1e9 else { return 1 }
        return max(1, Int(((seconds - Double(shortestPart)) / Double(partLength)).rounded(.up)))
    }

    /// When the part begins, in seconds.
    var start: Int { part * Self.partLength }

    /// When it ends, as far as that is known.
    var end: MediaTime? {
        part < parts - 1 ? MediaTime(value: Int64(start + Self.partLength), timescale: 1) : length
    }

    /// Whether the job tells how long the sound is. Otherwise nothing of a longer one than `mostSeconds` can be had.
    var hasLength: Bool { length != nil }
}

// MARK: - How they are made

extension ExcerptPlan {
    /// Browsers play higher ones, and the difference is not heard.
    private static let highestRate = 48_000
    /// Pairs of peaks for a second, at that rate: as many as a screen can show of a minute.
    private static let zoom = 512
    /// Of one excerpt. The longest part of the highest rate has 181 MB.
    private static let mostBytes: Int64 = 256 << 20
    /// Pairs of peaks for the whole of a longer sound.
    private static let wholePairs: Int64 = 2_000
    /// Of a slot, in seconds.
    private static let mostTime = 600

    /// The file that is heard.
    private func file(of side: Side) -> Recipe.Source {
        guard side == .output else {
            let source = recipe.sources[0]
            return Recipe.Source(location: source.location, track: source.track, raw: source.raw)
        }
        return Recipe.Source(location: recipe.outputs[0].location)
    }

    /// Where the excerpt of a side is published; its peaks are beside it.
    func location(of side: Side) -> String { "\(name(of: side)).wav" }

    private func name(of side: Side) -> String {
        base + name(of: side, ["\(part)/\(parts)", rate.map { "\($0)" } ?? "", end.map(\.description) ?? ""])
    }

    private func name(of side: Side, _ more: [String]) -> String {
        let file = file(of: side)
        let raw = file.raw.map { raw in
            "\(raw.codec.rawValue) \(raw.sampleRateHz) \(raw.channelCount) \(raw.bitDepth) \(raw.sampleKind.rawValue) "
                + raw.endianness.rawValue
        }
        let words: [String] = [
            "1", file.location, file.track.map { "\($0)" } ?? "", raw ?? "", identities[side] ?? "",
        ]
        return ExcerptFile.name(SHA256Hash.digest(of: Array((words + more).joined(separator: "\n").utf8)))
    }

    /// Where the peaks of the whole sound are published; `nil`: the excerpt shows all of it, or the length is not known.
    var wholeLocation: String? {
        guard parts > 1, frames != nil, let side = sides.first else { return nil }
        return "\(base)\(name(of: side, ["whole"])).dat"
    }

    /// The recipe of these peaks; `nil` if there are none.
    var wholeRecipe: Recipe? {
        guard let location = wholeLocation, let frames, let side = sides.first else { return nil }
        let zoom = min(max(Self.zoom, Int(frames / Self.wholePairs)), Recipe.Waveform.zooms.upperBound)
        return Recipe(
            sources: [file(of: side)],
            outputs: [
                Recipe.Output(
                    location: location,
                    waveform: Recipe.Waveform(samplesPerPixel: zoom),
                    onConflict: .replace
                )
            ],
            damage: .conceal,
            limits: Recipe.Limits(wallSeconds: Self.mostTime)
        )
    }

    /// The recipe of an excerpt: integers of 24 bits, of which a browser can read any part, and its peaks.
    func recipe(of side: Side) -> Recipe {
        var source = file(of: side)
        if let range { source.ranges = [range] }
        let format = AudioFormat(
            container: .wav,
            codec: .pcm,
            sampleRateHz: rate,
            bitDepth: 24,
            sampleKind: .integer,
            maximumSampleRateHz: rate == nil ? Self.highestRate : nil,
            maximumChannelCount: 2
        )
        var recipe = Recipe(
            sources: [source],
            outputs: [
                Recipe.Output(location: location(of: side), format: format, onConflict: .replace),
                Recipe.Output(
                    location: "\(name(of: side)).dat",
                    waveform: Recipe.Waveform(samplesPerPixel: Self.zoom, bits: 16),
                    onConflict: .replace
                ),
            ],
            // Damage is silent, and moves nothing.
            damage: .conceal,
            limits: Recipe.Limits(
                outputBytes: Self.mostBytes,
                decodedSeconds: length == nil ? Self.mostSeconds : nil,
                wallSeconds: Self.mostTime
            )
        )
        recipe.dropTags = true
        return recipe
    }

    /// `nil`: the whole sound.
    private var range: MediaTimeRange? {
        guard parts > 1 || endsThere else { return nil }
        let isOpen = part == parts - 1 && !endsThere
        // `try?`: the end is behind the start.
        return try? MediaTimeRange(
            start: MediaTime(value: Int64(start), timescale: 1),
            end: isOpen ? .positiveInfinity : end ?? .positiveInfinity
        )
    }

    /// The job of a recipe, as the API takes it.
    func request(_ recipe: Recipe) throws -> JSONValue {
        .object([
            "recipe": JSONValue(text: try recipe.json()),
            "labels": .object(["excerptOf": .text("\(job)")]),
        ])
    }
}
