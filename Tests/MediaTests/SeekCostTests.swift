import Conversion
import TestSupport
import Testing

@testable import Media

/// Random access and reverse cost little however long the source is, in packets decoded and in marks kept.
@Suite struct SeekCostTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// Four minutes.
    private static let frames = 1_920_000

    private func long(_ name: String, _ arguments: String) throws -> String {
        let path = folder.path(name)
        let noise = ["-f", "lavfi", "-i", "anoisesrc=r=8000:a=0.1:seed=7", "-af", "atrim=end_sample=\(Self.frames)"]
        try FFmpeg.run(noise + arguments.split(separator: " ").map(String.init) + [path])
        return path
    }

    @Test(
        arguments: [
            ("a.flac", ""), ("a.m4a", "-aac_pns 0"), ("a.mp3", "-b:a 16k"), ("n.mp3", "-b:a 16k -write_xing 0"),
            ("a.aac", "-aac_pns 0"), ("a.ogg", "-c:a libvorbis"), ("f.mka", "-c:a flac"), ("a.wv", ""),
            ("v.mka", "-c:a libvorbis"), ("a.ts", "-c:a aac -aac_pns 0"), ("a.ac3", "-ar 32000"), ("a.wav", ""),
        ]
    ) func costDoesNotGrowWithTheLength(name: String, arguments: String) throws {
        let path = try long(name, arguments)
        let whole = try ReadBack.file(path)
        let (pcm, packets) = (try whole.pcm, whole.decodedPackets)
        let framesPerPacket = pcm.frames / packets
        let access = try RandomAccess(path)
        #expect(try access.reader.frames == Int64(pcm.frames))
        // Counting decodes no more than the end.
        #expect(access.reader.decodedPackets * framesPerPacket < 40_000 + 2 * framesPerPacket)

        var generator = SeededGenerator(seed: 4)
        let before = access.reader.decodedPackets
        for _ in 0..<20 {
            let start = generator.whole(in: 0..<pcm.frames - 100)
            let part = try access.pcm(start..<start + 100)
            let difference = try part.difference(from: pcm.cut(start..<start + 100), floor: name == "a.ac3" ? 40 : nil)
            #expect(difference == nil, "\(start)")
        }
        let perRange = (access.reader.decodedPackets - before) * framesPerPacket / 20
        #expect(perRange < 60_000 + framesPerPacket, "\(perRange) frames for a range")

        let start = access.reader.decodedPackets
        let output = try ReversedOutput(access.reader, nil, chunkFrames: 1 << 18)
        let difference = try PCM.all(of: output).difference(from: pcm.reversed(), floor: name == "a.ac3" ? 40 : nil)
        #expect(difference == nil)
        #expect(Double(access.reader.decodedPackets - start) < 1.4 * Double(packets))
        // One at the start, and at most one for each 32,768 frames.
        #expect(access.reader.output.index!.marks.count <= 1 + (pcm.frames >> 15))
    }

    @Test(arguments: [("n.mp3", "-b:a 16k -write_xing 0"), ("a.ogg", "-c:a libvorbis")])
    func fewMarksAreEnough(name: String, arguments: String) throws {
        let path = try long(name, arguments)
        let pcm = try ReadBack.file(path).pcm
        var options = Reader.Options()
        options.seeking.mostMarks = 8
        let access = try RandomAccess(path, options)
        var generator = SeededGenerator(seed: 5)
        for _ in 0..<20 {
            let start = generator.whole(in: 0..<pcm.frames - 100)
            #expect(try access.pcm(start..<start + 100) == pcm.cut(start..<start + 100), "\(start)")
            let index = access.reader.output.index!
            #expect(index.marks.count < 8)
            #expect(index.marks.map(\.clock.place) == index.marks.map(\.clock.place).sorted())
        }
    }
}
