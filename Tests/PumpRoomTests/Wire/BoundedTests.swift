import Conversion
import Testing

@testable import PumpRoom

/// The largest failure and the largest report fit into a message.
@Suite struct BoundedTests {
    /// Each byte of it takes six in JSON.
    private let worst = String(repeating: "\u{1}", count: 1 << 20)
    private let coder = WireCoder()
    private let cost = WireCost(cpuMicroseconds: .max, peakBytes: .max)

    @Test func worstFailureFits() throws {
        let reason = FormatRefusal.Reason(field: worst, value: worst, why: worst, allowed: worst, hint: worst)
        var failure = Failure(
            code: worst,
            kind: .permanent,
            stage: worst,
            message: worst,
            stream: .max,
            position: MediaTime(frames: .max, rate: 44_100),
            frame: .max,
            libavName: worst,
            libavText: worst,
            hint: worst,
            refusals: Array(repeating: reason, count: 1_000)
        )
        failure.contradiction = Contradiction(.clock, promised: worst, found: worst)
        let bytes = try coder.bytes(RoomReply.failed(job: .max, failure.bounded, cost))
        #expect(bytes.count <= Datagram.byteLimit, "\(bytes.count)")
    }

    @Test func worstReportFitsAndStillCounts() throws {
        let stretch = DamageReport.Stretch(start: .max, frames: .max, code: worst)
        let format = try #require(
            try? AudioFormat(container: .wav, codec: .pcm).resolved(
                for: AudioShape(
                    sampleRateHz: 44_100,
                    channelCount: 2,
                    bitDepth: 16,
                    codecName: "pcm_s16le",
                    isLossless: true
                )
            )
        )
        let report = ConversionReport(
            source: .init(track: .max, codec: worst, sampleRateHz: .max, channelCount: .max, frames: .max),
            format: format,
            plannedFrames: .max,
            writtenFrames: .max,
            decodedFrames: .max,
            bytes: .max,
            damage: DamageReport(
                frames: .max,
                stretchCount: 1_000_000,
                stretches: Array(repeating: stretch, count: 1_000)
            ),
            isVerified: true,
            digest: worst,
            lostTags: Array(repeating: worst, count: 1_000),
            remarks: Array(repeating: Remark(.tags, worst, count: .max), count: 1_000)
        ).bounded
        let bytes = try coder.bytes(RoomReply.converted(job: .max, report, cost))
        #expect(bytes.count <= Datagram.byteLimit, "\(bytes.count)")
        #expect(report.damage.stretchCount == 1_000_000)
        #expect(report.damage.stretches.count == Bound.stretches)
        #expect(report.lostTags.count == Bound.tags)
        #expect(report.lostTags.last == "… and 937 more")
        #expect(report.remarks.count == Bound.remarks)
        #expect(report.remarks.allSatisfy { $0.detail.utf8.count <= Bound.name })
    }

    @Test func textIsCutBetweenLetters() {
        #expect("short".shortened(to: 10) == "short")
        #expect("0123456789abc".shortened(to: 10) == "0123456…")
        for limit in 3...20 {
            let cut = String(repeating: "ä€😀", count: 10).shortened(to: limit)
            #expect(cut.utf8.count <= limit)
            #expect(!cut.contains("\u{FFFD}"))
        }
    }

    @Test func chaptersThatAreLeftOutAreCounted() {
        let chapters = (0..<100_000).map {
            ChapterReport(
                start: MediaTime(value: $0, timescale: 1_000),
                end: MediaTime(value: $0 + 1, timescale: 1_000),
                title: worst
            )
        }
        let report = SourceReport(
            container: "matroska",
            tracks: [],
            tags: [],
            chapters: chapters,
            cover: nil,
            isProtected: false
        )
        let bounded = report.bounded(count: 128, bytes: 1_000)
        #expect(bounded.chapters.count == 129 && bounded.unlistedChapters == 99_872)
        #expect(bounded.chapters.last?.title == "… 99872 more")
        #expect(report.bounded(count: 100_000, bytes: 1_000).unlistedChapters == nil)
    }

    @Test func valuesThatAreLeftOutAreCounted() throws {
        let values = Array(repeating: worst, count: 5_000)
        let tag = TagReport(name: worst, value: worst, values: values, isTechnical: false)
        let report = SourceReport(
            container: "flac",
            tracks: [],
            tags: [tag, tag],
            chapters: [],
            cover: nil,
            isProtected: false
        )
        let bounded = try #require(report.bounded(count: 16, bytes: 1_000).tags.first)
        #expect(bounded.values?.count == 17 && bounded.values?.last == "… 4984 more")
        #expect(bounded.isShortened == true)
        // The smallest that a room sends.
        let least = report.bounded(count: 1, bytes: Bound.name)
        let bytes = try coder.bytes(RoomReply.described(job: .max, least, cost))
        #expect(bytes.count <= Datagram.byteLimit, "\(bytes.count)")
    }

    /// A program that writes a shortened value back would destroy the tag.
    @Test func shortenedTagsAreMarked() {
        let long = String(repeating: "x", count: 500)
        let tags: [TagReport] = [
            TagReport(name: "title", value: "One", isTechnical: false),
            TagReport(name: "lyrics", value: long, isTechnical: false),
            TagReport(name: "artist", value: long, values: ["a", "b"], isTechnical: false),
            TagReport(name: "mood", value: "calm", isTechnical: false),
        ]
        let report = SourceReport(
            container: "flac",
            tracks: [],
            tags: tags,
            chapters: [],
            cover: nil,
            isProtected: false
        )
        let bounded = report.bounded(count: 3, bytes: 400)
        #expect(bounded.tags.map(\.isShortened) == [nil, true, nil, nil])
        #expect(bounded.unlistedTags == 1)
        let whole = report.bounded(count: 4, bytes: 500)
        #expect(whole == report && whole.unlistedTags == nil)
    }

    @Test func messagesReadBackAsTheyWereWritten() throws {
        let recipe = Recipe(from: .init(location: "source.flac"), to: .init(location: "output.opus"))
        let bytes = try coder.bytes(RoomRequest.convert(job: 7, recipe: recipe, streams: false, album: nil))
        guard case .convert(7, recipe, false, nil) = try coder.message(RoomRequest.self, in: bytes) else {
            Issue.record("\(String(decoding: bytes, as: UTF8.self))")
            return
        }
    }
}
