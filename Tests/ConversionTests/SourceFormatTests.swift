import Conversion
import Foundation
import Testing

/// The words for what a worker may read.
struct SourceFormatTests {
    @Test func allTogetherNameEachDemuxerAndDecoderOnce() {
        let all = Set<SourceFormat>.all
        #expect(Set(all.demuxers).count == all.demuxers.count && Set(all.decoders).count == all.decoders.count)
        for format in SourceFormat.allCases {
            #expect(!(format.demuxers + format.decoders).isEmpty, "\(format)")
            #expect(Set([format]).demuxers == format.demuxers)
            #expect(format.decoders.allSatisfy(all.decoders.contains))
        }
    }

    @Test func narrowedListsHoldWhatIsNamedAndNothingElse() {
        let few: Set<SourceFormat> = [.mp3, .flac]
        #expect(few.demuxers == ["flac", "mp3"] && few.decoders == ["flac", "mp3float"])
        #expect(Set<SourceFormat>([.opus, .vorbis]).demuxers == ["ogg"])
    }

    @Test func wordOfAPartNamesAllThatPermitIt() {
        #expect(SourceFormat.word(forDemuxer: "ogg") == "vorbis|opus|speex")
        #expect(SourceFormat.word(forDecoder: "aac") == "aac|m4a")
        #expect(SourceFormat.word(forDecoder: "opus") == "opus" && SourceFormat.word(forDecoder: "h264") == nil)
        #expect(Set<SourceFormat>([.opus]).words == ["vorbis|opus|speex", "opus"])
    }

    /// docs/formats.md has a row for each.
    @Test func thePageNamesThemAll() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let page = try String(contentsOf: folder.appending(path: "../../docs/formats.md"), encoding: .utf8)
        for format in SourceFormat.allCases {
            let demuxers = format.demuxers.joined(separator: ", ")
            let decoders = format.decoders.filter { !$0.hasPrefix("pcm_") }.joined(separator: ", ")
            let pcm = format.decoders.contains { $0.hasPrefix("pcm_") } ? "PCM" : ""
            let decoded = [pcm, decoders].filter { !$0.isEmpty }.joined(separator: ", ")
            let row = "| `\(format.rawValue)` | \(demuxers) | \(decoded) | \(format.reason) |"
            #expect(page.contains(row), "\(row)")
        }
    }
}
