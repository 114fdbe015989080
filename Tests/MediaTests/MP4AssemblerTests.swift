import Conversion
import Testing
import TestSupport

@testable import Media

@Suite struct MP4AssemblerTests {
    @Test func sizesComeBackInOrderWhenTheyWereParked() throws {
        var sizes = SampleSizes(blockBytes: 64, blocksInMemory: 2)
        var store: [UInt8] = []
        var generator = SeededGenerator(seed: 7)
        let numbers = (0..<5_000).map { _ in Int(generator.next() >> (44 + generator.next() % 20)) }
        for number in numbers {
            sizes.append(number)
            if let block = sizes.blockToPark() {
                sizes.park(block, at: Int64(store.count))
                store += block
            }
        }
        var found: [Int] = []
        try sizes.forEach({ Array(store[Int($0)..<(Int($0) + $1)]) }, { found.append($0) })
        #expect(found == numbers)
        #expect(sizes.count == 5_000)
        #expect(sizes.gaps.count > 10)
    }

    /// The index of a very long file in miniature: blocks of 64 bytes are parked between the samples.
    @Test func parkedIndexLeavesTheSoundWhole() throws {
        let clip = try Clip(Signal.noise(seed: 3, rate: 44_100, frames: 44_100 * 12, channels: 1).scaled(by: 0.3))
        let whole = clip.folder.path("out.m4a")
        try clip.convert(AudioFormat(container: .m4a, codec: .aac))
        let assembled = clip.folder.path("assembled.m4a")
        try assemble(whole, into: assembled, sizes: SampleSizes(blockBytes: 64, blocksInMemory: 1))

        let (first, second) = (try FFmpeg.decode(whole, to: .f32), try FFmpeg.decode(assembled, to: .f32))
        #expect(first == second)
        #expect(try FFmpeg.probe(assembled).audio.first?.duration == FFmpeg.probe(whole).audio.first?.duration)
        #expect(try Bytes.size(of: assembled) > Bytes.size(of: whole) + 500)
    }

    /// Moves the packets of one MP4 into another. Its moov serves as the moov from libav.
    private func assemble(_ source: String, into path: String, sizes: SampleSizes) throws {
        let bytes = try Bytes.read(source)
        let boxes = try #require(BoxTree.parse(ArraySlice(withoutMediaData(bytes))))
        let output = try OpenFile.creating(path)
        let sink = try ByteSink(descriptor: output.descriptor)
        let ftyp = try #require(boxes.first { $0.name == "ftyp" })
        let moov = try #require(boxes.first { $0.name == "moov" })
        var assembler = try MP4Assembler(
            ftyp: serialised(ftyp),
            to: sink,
            timescale: 44_100,
            rollDistance: 1,
            sizes: sizes
        )
        let input = try OpenFile.reading(source)
        let reader = try Reader(descriptor: input.descriptor)
        let packets = try reader.packets(of: reader.track())
        var packet = try Packet()
        while try packets.next(into: &packet) {
            let duration = packet.duration
            try packet.withBytes { try assembler.append($0, duration: duration, to: sink) }
        }
        try assembler.finish(serialised(moov), to: sink)
        try sink.flush()
    }

    /// An MP4 written by Sluice, without its samples. Their box has a 64-bit size.
    private func withoutMediaData(_ bytes: [UInt8]) throws -> [UInt8] {
        let name = try #require(Bytes.find("mdat", in: bytes))
        let size = Int(try Bytes.big(UInt64.self, in: bytes, at: name + 4))
        return Array(bytes[..<(name - 4)]) + Array(bytes[(name - 4 + size)...])
    }

    private func serialised(_ box: BoxTree) throws -> [UInt8] {
        var bytes: [UInt8] = []
        try box.write { bytes += $0 }
        return bytes
    }
}
