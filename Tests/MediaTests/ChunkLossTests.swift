import Conversion
import TestSupport
import Testing

@testable import Media

/// A chunk `iXML` that an output lacks is told as other losses are.
@Suite struct ChunkLossTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private static let sound = Signal.sweep(rate: 44_100, frames: 44_100).pcm(.s16)

    private func source(contentBytes: Int = 30) throws -> String {
        let path = folder.path("take.wav")
        let size: [UInt8] = bigEndianBytes(Int64(contentBytes), count: 4).reversed()
        var bytes = try WAVFile.bytes(Self.sound)
        bytes += Array("iXML".utf8) + size
        bytes += [UInt8](repeating: 0x41, count: contentBytes)
        let all: [UInt8] = bigEndianBytes(Int64(bytes.count - 8), count: 4).reversed()
        bytes.replaceSubrange(4..<8, with: all)
        try Bytes.write(bytes, to: path)
        return path
    }

    private func lost(_ outcome: Converter.Outcome) -> [String] {
        outcome.remarks.filter { $0.kind == .tags && $0.detail.contains("iXML") }.map(\.detail)
    }

    @Test func otherContainersLackIt() throws {
        let format = AudioFormat(container: .flac)
        let outcome = try Converted.file(source(), to: folder.path("a.flac"), as: format)
        #expect(lost(outcome) == ["the chunk iXML was not carried over: FLAC has no place for it"])
        #expect(throws: MediaError.self) {
            try Converted.file(source(), to: folder.path("b.flac"), as: format, refusesLoss: true)
        }
    }

    @Test func partsAndOtherRatesLackIt() throws {
        let (path, out) = (try source(), folder.path("a.wav"))
        #expect(try lost(Converted.file(path, to: out, as: AudioFormat(container: .wav))) == [])
        let range = try MediaTimeRange(start: .zero, end: MediaTime(value: 1, timescale: 2))
        let reason = "the chunk iXML was not carried over: it states times of the whole source at its own rate"
        #expect(try lost(Converted.file(path, to: out, as: AudioFormat(container: .wav), ranges: [range])) == [reason])
        let slow = AudioFormat(container: .wav, sampleRateHz: 22_050)
        #expect(try lost(Converted.file(path, to: out, as: slow)) == [reason])
    }

    @Test func longOnesAreNotKept() throws {
        let (path, out) = (try source(contentBytes: (1 << 20) + 2), folder.path("a.wav"))
        let outcome = try Converted.file(path, to: out, as: AudioFormat(container: .wav))
        #expect(lost(outcome) == ["the chunk iXML was not carried over: it is longer than 1 MiB"])
    }
}
