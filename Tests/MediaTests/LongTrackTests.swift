import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// Ten hours of M4A cost as little memory as ten minutes. libav's index of 1.55 million packets, with everything
/// that depends on it, took a hundred mebibytes.
@Suite struct LongTrackTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// A file that repeats some packets of quiet AAC: all chunks point to the same place.
    private func looped(seconds: Int, to path: String) throws -> Int {
        let clip = folder.path("clip.m4a")
        let quiet = Signal.noise(seed: 3, rate: 44_100, frames: 100_000, amplitude: 0.001).pcm(.s16)
        try FFmpeg.encode(quiet, to: clip, ["-b:a", "8k", "-use_editlist", "0"])
        let tables = try MP4Tables(Bytes.read(clip))
        let chunks = seconds * 44_100 / 1024 / 48
        try Bytes.write(try tables.looped(samples: 10..<58, times: chunks), to: path)
        return chunks * 48
    }

    @Test func libavKeepsNoEntryForEachPacket() throws {
        let count = try looped(seconds: 36_000, to: folder.path("long.m4a"))
        #expect(count > 1_550_000)
        let file = try OpenFile.reading(folder.path("long.m4a"))
        let reader = try Reader(descriptor: file.descriptor)
        let track = try reader.track()
        #expect(reader.demuxer.walks.keys.sorted() == [track.index])
        #expect(reader.demuxer.streams.map(\.indexEntries) == [4096 + 2 + 512])
        #expect(track.length == .exact(Int64(count) * 1024))

        // The last second, found without decoding the ten hours before it.
        let end = MediaTime(frames: Int64(count) * 1024, rate: 44_100)
        let start = MediaTime(frames: Int64(count) * 1024 - 44_100, rate: 44_100)
        let output = try reader.samples(of: track, ranges: [try MediaTimeRange(start: start, end: end)])
        var block = try SampleBlock()
        while try output.next(into: &block) {}
        #expect(output.deliveredFrames == 44_100)
        #expect(output.decodedPackets < 60)
    }

    @Test func endOfTenHoursIsReversedAtOnce() throws {
        let count = Int64(try looped(seconds: 36_000, to: folder.path("long.m4a")))
        let access = try RandomAccess(folder.path("long.m4a"))
        let reversed = try ReversedOutput(access.reader)
        #expect(reversed.promisedFrames == count * 1024)
        var block = try SampleBlock()
        var samples: [Float] = []
        while samples.count < 1_500_000, try reversed.next(into: &block) {
            let part = block.samples(ofChannel: 0, as: Float.self)
            samples += try #require(part)
        }
        #expect(access.reader.decodedPackets < 2_200)
        let last = count * 1024
        try access.reader.read(last - 1_500_000..<last, into: &block)
        let found = block.samples(ofChannel: 0, as: Float.self)
        let forwards = try #require(found)
        #expect(SampleMath.isReverse(forwards, of: samples, count: 1_500_000))
        // A place in the middle costs a few packets.
        let before = access.reader.decodedPackets
        try access.reader.read(last / 2..<last / 2 + 10, into: &block)
        #expect(access.reader.decodedPackets - before < 20)
    }

    /// One chunk of many samples that last so long that each stand-in replaces only a few. Restarting for each
    /// stand-in would read the sizes eight hundred times.
    @Test func openingReadsTheTablesAFewTimesOnly() throws {
        let count: UInt32 = 200_000
        func words(_ words: [UInt32]) -> [UInt8] { words.flatMap { bigEndianBytes(Int64($0), count: 4) } }
        let heads = words([0, 1, count, 1 << 22, 0, 1, 1, count, 1, 0, 1, 0])
        let path = folder.path("tables")
        let sizes = words([0, 0, count]) + Bytes.repeated(words([1]), times: Int(count))
        try Bytes.write(heads + sizes, to: path)
        let file = try OpenFile.reading(path)
        let source = try ByteSource(descriptor: file.descriptor, stop: StopSignal())
        let boxes = SampleTables.Boxes(
            sizes: 48..<Int64(60 + 4 * count),
            runs: 0..<16,
            chunkRuns: 16..<36,
            offsets: 36..<48,
            offsetsAreWide: false
        )
        let before = try readBytes()
        let tables = try #require(try SampleTables(boxes, in: source, samples: 1...Int64(count)))
        let standIn = try #require(try SampleStandIn(for: tables, ofTrack: 1, statedTicks: 1, SampleTableRules()))
        #expect(standIn.standIns.count > 700)
        #expect(try readBytes() - before < 10 * Int(count) * 4)
    }

    /// Bytes that this thread has read since it started.
    private func readBytes() throws -> Int {
        let text = try String(contentsOfFile: "/proc/thread-self/io", encoding: .utf8)
        return try #require(text.split(separator: "\n").first?.split(separator: " ").last.flatMap { Int($0) })
    }

    /// Runs in a separate process, which copies all packets.
    @Test func tenHoursCostWhatTenMinutesCost() throws {
        var peaks: [Int] = []
        for seconds in [600, 36_000] {
            let count = try looped(seconds: seconds, to: folder.path("long.m4a"))
            let run = try MediaProcess.run([folder.path("long.m4a"), folder.path("out.aac"), "adts", "copy"]).checked()
            peaks.append(try #require(Int(run.errorText.split(separator: " ").last?.dropLast() ?? "")))
            // Each packet follows a header of seven bytes.
            #expect(try Bytes.size(of: folder.path("out.aac")) > count * 8)
        }
        // The tolerance is for pages that the kernel happens to map or not.
        #expect(peaks[1] < peaks[0] + 2048, "\(peaks) KiB")
    }
}
