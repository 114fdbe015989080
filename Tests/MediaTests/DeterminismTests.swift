import Conversion
import Media
import TestSupport
import Testing

/// The same source and format give the same bytes, within one process and in another process.
@Suite struct DeterminismTests {
    private static let tags = ["title": "Ä tune", "artist": "Nobody", "x-own": "1"]

    @Test(arguments: FormatRow.all) func sameConversionGivesTheSameBytes(row: FormatRow) throws {
        let folder = try TemporaryFolder.create()
        let source = try Covered.flac()
        let format = AudioFormat(container: row.rule.container, codec: row.rule.codec)
        let outputs = ["once", "again", "elsewhere"].map { folder.path($0) }
        let tags = Self.tags.mapValues { Recipe.TagValues($0) }
        for output in outputs.prefix(2) { try Converted.file(source, to: output, as: format, tags: tags) }
        let words = [source, outputs[2], row.rule.container.rawValue, row.rule.codec.rawValue]
        let answer = try MediaProcess.convert(words + Self.tags.map { "\($0)=\($1)" })
        let bytes = try outputs.map { try Bytes.read($0) }
        #expect(answer == "\(bytes[0].count)")
        #expect(bytes[0] == bytes[1])
        #expect(bytes[0] == bytes[2])
    }

    /// Comparing two runs would not show a time stamp: both may happen within one second.
    @Test func noContainerStoresTheTimeOfDay() throws {
        let folder = try TemporaryFolder.create()
        let source = try Covered.flac()
        for container in Container.allCases where container != .raw {
            let output = folder.path("out." + container.fileExtensions[0])
            try Converted.file(source, to: output, as: AudioFormat(container: container))
            let probe = try FFmpeg.probe(output, container == .adts ? ["-f", "aac"] : [])
            let names = probe.tags.keys.map { $0 } + probe.streams.flatMap { $0.tags.keys.map { $0 } }
            #expect(!names.contains("creation_time"), "\(container)")
            guard probe.formatName.hasPrefix("mov") else { continue }
            // Four bytes of version and flags, then the two times.
            let bytes = try Bytes.read(output)
            for name in ["mvhd", "tkhd", "mdhd"] {
                let box = try #require(Bytes.find(name, in: bytes))
                #expect(bytes[(box + 8)..<(box + 16)].allSatisfy { $0 == 0 }, "\(name)")
            }
        }
    }
}
