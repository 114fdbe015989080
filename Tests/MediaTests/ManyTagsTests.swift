import Conversion
import TestSupport
import Testing

@testable import Media

/// libav's time for tags grows with the square of their number: a file of some megabytes occupied a room for minutes.
@Suite struct ManyTagsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// Each of these files took ten seconds to minutes to open. Uses the release build; each step reopens the file.
    @Test(arguments: ManyTags.allCases) func hundredThousandTagsAreOpenedInSeconds(_ many: ManyTags) throws {
        let path = folder.path(many.kind.fileName)
        try Bytes.write(many.bytes(100_000), to: path)
        // Opening costs the same for every step, so one file goes through all, and the others through two.
        let steps = ["wav", "copy"] + (many == .matroskaManyLists ? ["scan-strict", "opus"] : [])
        let answer = try #require(try ReadingProcess.read([path], steps: steps).first)
        let frames = try SampleFile.of(many.kind).clean.frames
        for step in ["wav", "scan-strict"] where steps.contains(step) {
            #expect(answer.steps[step]?.word == "\(frames)", "\(answer)")
        }
        // An output may have up to ten thousand tags, and libav takes quadratic time to write them, too.
        #expect(answer.steps.values.allSatisfy { $0.hundredths < 500 }, "\(answer)")
    }

    /// The sound is complete, the first tags are kept, and a remark reports the hidden ones.
    @Test(arguments: ManyTags.allCases.filter(\.losesTags)) func tagsBeyondTheCapAreLeftOutAndTold(_ many: ManyTags)
        throws
    {
        let path = folder.path(many.kind.fileName)
        try Bytes.write(many.bytes(12_000), to: path)
        let input = try OpenFile.reading(path)
        let reader = try Reader(descriptor: input.descriptor, options: .init(nameHint: path))
        #expect(reader.demuxer.hidesTags)
        let shown = max(reader.description.tags.count, reader.description.chapters.count)
        let isJoined = [.flacOneName, .oggOneName].contains(many)
        #expect(shown <= TagBudget.mostTags + 10 && (isJoined || shown > 900), "\(shown)")
        let outcome = try Converted.file(path, to: folder.path("out.wav"), as: AudioFormat(container: .wav))
        #expect(outcome.remarks.contains(TagCap.remark), "\(outcome.remarks)")
        #expect(Int(outcome.sourceFrames) == (try SampleFile.of(many.kind).clean.frames))
    }

    @Test func aStrictConversionRefusesToLoseTags() throws {
        let path = folder.path(ManyTags.flacNames.kind.fileName)
        try Bytes.write(ManyTags.flacNames.bytes(12_000), to: path)
        #expect(
            Converted.code {
                try Converted.file(path, to: folder.path("a.wav"), as: .init(container: .wav), refusesLoss: true)
            } == .lossRefused
        )
    }

    @Test(arguments: ManyTags.allCases.filter(\.losesTags)) func aThousandTagsAreAllShown(_ many: ManyTags) throws {
        let path = folder.path(many.kind.fileName)
        try Bytes.write(many.bytes(1_000), to: path)
        let input = try OpenFile.reading(path)
        #expect(try !Reader(descriptor: input.descriptor, options: .init(nameHint: path)).demuxer.hidesTags)
    }

    /// Opening stops at its time limit, at a point where libav reads.
    @Test func openingEndsAtItsLimit() throws {
        let input = try OpenFile.reading(try SampleFile.path(.mkaPCM, in: folder))
        let error = #expect(throws: MediaError.self) {
            try Reader(descriptor: input.descriptor, options: .init(openSeconds: 0))
        }
        #expect(error?.code == .openSecondsExceeded)
        #expect(throws: Never.self) { try Reader(descriptor: input.descriptor, options: .init(openSeconds: 10)) }
    }
}

extension SampleFile {
    /// Writes a file of this kind to `folder` and returns its path.
    static func path(_ kind: Kind, in folder: TemporaryFolder) throws -> String {
        let path = folder.path(kind.fileName)
        try Bytes.write(of(kind).bytes, to: path)
        return path
    }
}
