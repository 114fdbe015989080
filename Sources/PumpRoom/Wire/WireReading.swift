package import Conversion
import FoundationEssentials

/// How slots and rooms read messages, without acting on them.
///
/// Fuzzers and tests reach the readers through this in release builds, too.
package enum WireReading {
    /// A room's message as the slot accepts it, encoded again; `nil` if the slot would end the room for it.
    package static func reply(_ bytes: [UInt8]) throws -> [UInt8]? {
        // The slot ends a room whose message it cannot read, whatever the reason.
        guard let reply = try? WireCoder().message(RoomReply.self, in: bytes) else { return nil }
        let bounds = JobBounds()
        switch reply {
        case .hello(let version, let build, let level):
            return try written(RoomReply.hello(version: version, build: build, level: level.bounded))
        case .begun(_, let spent): return spent.isCredible ? try written(reply) : nil
        case .progress(_, let progress):
            return progress.isCredible(after: nil, within: bounds) ? try written(reply) : nil
        case .wants(_, let question): return question.isCredible ? try written(reply) : nil
        case .wrote(let job, let report):
            guard report.isCredible(within: bounds) else { return nil }
            return try written(RoomReply.wrote(job: job, report.bounded))
        case .converted(let job, let report, let spent):
            guard spent.isCredible, report.isCredible(within: bounds) else { return nil }
            return try written(RoomReply.converted(job: job, report.bounded, spent))
        case .measured(_, let measure, let spent):
            return spent.isCredible && measure.isCredible(within: bounds) ? try written(reply) : nil
        case .pointed(_, let points):
            return points.count <= Bound.points && points.allSatisfy(\.isCredible) ? try written(reply) : nil
        case .described(_, let report, let spent):
            guard spent.isCredible, report.isCredible(within: bounds) else { return nil }
            // Rooms shorten the report; the slot accepts all that fits into a message.
            _ = report.bounded(count: Bound.tags, bytes: 1_000)
            return try written(reply)
        case .failed(let job, let failure, let spent):
            guard spent.isCredible, let failure = failure.credible else { return nil }
            return try written(RoomReply.failed(job: job, failure, spent))
        }
    }

    /// A slot's message as the room receives it, encoded again without paths; `nil` if it is not a message.
    package static func request(_ bytes: [UInt8]) throws -> [UInt8]? {
        guard var request = try? WireCoder().message(RoomRequest.self, in: bytes) else { return nil }
        switch request {
        case .convert(let job, let recipe, let streams, let album):
            request = .convert(job: job, recipe: recipe.withoutPlaces, streams: streams, album: album)
        case .measure(let job, let recipe): request = .measure(job: job, recipe: recipe.withoutPlaces)
        case .settle, .again, .probe, .windows, .filled, .stop: break
        }
        // A recipe can hold a number that JSON can read but not write.
        return try? written(request)
    }

    /// A message of each kind, as rooms write them.
    package static func replies(
        _ progress: ConversionProgress,
        _ report: ConversionReport,
        _ description: SourceReport,
        _ failure: Failure
    ) throws -> [[UInt8]] {
        let spent = WireCost(cpuMicroseconds: 12_000, peakBytes: 1 << 24)
        let level = RoomLevel(sandbox: .require, layers: RoomLevel.Layer.allCases, landlockVersion: 7, user: 65_534)
        let replies: [RoomReply] = [
            .hello(version: wireVersion, build: SluiceBuild.number, level: level), .begun(job: 1, spent: spent),
            .progress(job: 1, progress), .wrote(job: 1, report), .converted(job: 1, report, spent),
            .measured(job: 1, Self.measure, spent), .pointed(job: 1, Self.points),
            .wants(job: 1, WindowQuestion(number: 3, source: 0, offset: 1 << 30, count: 65_536)),
            .described(job: 1, description, spent),
            .failed(job: 1, failure, spent),
        ]
        return try replies.map(written)
    }

    /// A message of each kind, as slots write them.
    package static func requests(_ recipe: Recipe) throws -> [[UInt8]] {
        var probe = ProbeOptions(
            nameHint: "a.wav",
            scans: true,
            measuresLoudness: true,
            outlinesSound: true,
            digestsSound: true,
            silence: SilenceTrim(
                threshold: Gain(decibels: -60) ?? .silence,
                shortest: MediaTime(value: 1, timescale: 2)
            ),
            points: PointRules(),
            fitsPresets: true,
            limits: .init(openSeconds: 10)
        )
        probe.surveysLevels = true
        let requests: [RoomRequest] = [
            .settle(RoomConfiguration().rules), .convert(job: 1, recipe: recipe, streams: false, album: nil),
            .convert(job: 1, recipe: recipe, streams: false, album: AlbumLoudness(measure: measure.album)),
            .again(job: 5, streams: false, album: nil),
            .again(job: 6, streams: true, album: AlbumLoudness(measure: measure.album)),
            .measure(job: 4, recipe: recipe), .probe(job: 2, probe), .stop(job: 3),
            .windows(job: 1, [WindowFacts(source: 0, byteCount: 1 << 31)]),
            .filled(job: 1, number: 3, count: 65_536), .filled(job: 1, number: 4, count: nil),
        ]
        return try requests.map(written)
    }

    private static let points = [
        SourcePoint(.chapter, at: 0, frames: 4_000, text: "One"),
        SourcePoint(.clipping, at: 120, frames: 3, channels: [1, 2], value: 6),
    ]

    /// Of ten seconds at -20.05 LUFS.
    private static let measure = TrackMeasure(
        report: LoudnessReport(integratedLUFS: -20.05, truePeakDBTP: -3),
        album: AlbumMeasure(steps: [499], blocks: [97], energies: [1.124_273], truePeakDBTP: -3)
    )

    /// Encodes with sorted keys, so that equal messages give equal bytes.
    private static func written(_ message: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Array(try encoder.encode(message))
    }
}
