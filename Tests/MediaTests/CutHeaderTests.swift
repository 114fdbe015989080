import Conversion
import TestSupport
import Testing

@testable import Media

/// Sources of few frames that are cut in their header. Where libav skips ahead to the sound, it does not notice that the
/// source ends before it, and would take the rest of the header for sound.
@Suite struct CutHeaderTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// Three frames of one channel, and the bytes in front of them.
    private func header(_ name: String) throws -> [UInt8] {
        let coding = name.hasPrefix("u") ? "-e u-law" : "-b 16"
        let line = "sox -r 8000 -n -c 1 \(coding) --comment 'a comment' \(name) synth 3s square 440"
        try Run.program("sh", ["-c", line], folder: folder.path).checked()
        let bytes = try Bytes.read(folder.path(name))
        // SoX's own format has samples of four bytes.
        let sound = name.hasPrefix("u") ? 3 : name.hasSuffix("sox") ? 12 : 6
        // SoX ends a file of Creative Voice with an empty block, and pads CAF to an even size.
        let padding = name.hasSuffix("voc") || name == "u.caf" ? 1 : 0
        return Array(bytes[..<(bytes.count - padding - sound)])
    }

    private static let names = [
        "a.caf", "u.caf", "a.sf", "u.sf", "a.sph", "u.sph", "a.sox", "a.voc", "a.au", "u.au", "a.aiff", "a.aifc",
        "a.w64", "a.wav",
    ]

    @Test(arguments: names, [DamageMode.strict, .skip]) func restOfTheHeaderIsNoSound(name: String, damage: DamageMode)
        throws
    {
        let header = try header(name)
        let path = folder.path("cut-" + name)
        for kept in Set(stride(from: 30, to: header.count, by: 29)).union(max(1, header.count - 16)...header.count) {
            try Bytes.write(Array(header[..<kept]), to: path)
            #expect(Converted.code { _ = try Decoded.file(path, damage: damage) } != nil, "\(kept) bytes")
        }
    }

    @Test(arguments: names) func pipeGivesNoSoundEither(name: String) throws {
        let header = try header(name)
        for kept in max(1, header.count - 16)...header.count {
            let pipe = try FilledPipe.holding(Array(header[..<kept]))
            let code = Converted.code { _ = try Decoded.descriptor(pipe.reading, nameHint: name) }
            #expect(code != nil, "\(kept) bytes")
        }
    }
}
