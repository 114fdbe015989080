import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// Extreme numbers in the headers of every container: for each, every command gives sound or an error code. These
/// tests run in the release build, in which an overflow used to crash the process.
@Suite struct HeaderNumbersTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private static let ends: [UInt64] = [
        0, 1, 0x7FFF, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE, 0xFFFF_FFFF, 1 << 48, 1 << 59, 1 << 60, 1 << 62,
        0x7FFF_FFFF_FFFF_FFFF, 0x8000_0000_0000_0000, 0xFFFF_FFFF_FFFF_FFFE, .max,
    ]
    /// Files per container; `SLUICE_HEADER_FILES` sets a larger number.
    private static let count = ProcessInfo.processInfo.environment["SLUICE_HEADER_FILES"].flatMap { Int($0) } ?? 30

    /// The error codes in which a file may end, apart from a number of frames.
    private static let codes = Set(
        [FailureSection.sources, .damage, .requests, .conversion, .limits].flatMap(\.entries).map(\.code.rawValue)
    ).subtracting([
        "io_source", "io_destination", "disk_full", "frame_count_mismatch", "writer_failed", "already_finished",
        "verify_mismatch", "cancelled",
    ])

    private func expectAnswers(_ paths: [String]) throws {
        for answer in try ReadingProcess.read(paths) {
            for (step, end) in answer.steps {
                #expect(
                    Int64(end.word) != nil || end.word == "unknown" || Self.codes.contains(end.word),
                    "\(step): \(answer)"
                )
                #expect(end.hundredths < 1_000, "\(step): \(answer)")
            }
        }
    }

    /// Changes fields of two, four and eight bytes in either byte order, most of them in the first kilobyte.
    @Test(arguments: SampleFile.Kind.allCases) func fieldsAtTheirEndsAreSoundOrACode(_ kind: SampleFile.Kind) throws {
        let bytes = try SampleFile.of(kind).bytes.prefix(24_000)
        let seed: Int = kind.fileName.utf8.reduce(7) { (sum: Int, byte: UInt8) in sum &* 31 &+ Int(byte) }
        var generator = SeededGenerator(seed: UInt64(seed & 0xFFFF))
        let paths = try (0..<Self.count).map { number in
            var changed = Array(bytes)
            for _ in 0..<Int.random(in: 1...2, using: &generator) {
                let width = [2, 4, 8][Int.random(in: 0..<3, using: &generator)]
                let reach = Int.random(in: 0..<8, using: &generator) == 0 ? changed.count : min(changed.count, 1_024)
                let place = Int.random(in: 0..<(reach - width), using: &generator)
                let end = Self.ends[Int.random(in: 0..<Self.ends.count, using: &generator)]
                let digits = (0..<width).map { UInt8(truncatingIfNeeded: end >> UInt64(8 * $0)) }
                let field = Bool.random(using: &generator) ? digits : digits.reversed()
                changed.replaceSubrange(place..<(place + width), with: field)
            }
            let path = folder.path("\(number)-\(kind.fileName)")
            try Bytes.write(changed, to: path)
            return path
        }
        try expectAnswers(paths)
    }

    /// Ogg protects positions with checksums. These files have correct checksums.
    @Test(arguments: [SampleFile.Kind.oggOpus, .oggVorbis, .oggFLAC]) func positionsAtTheirEndsAreSoundOrACode(
        _ kind: SampleFile.Kind
    ) throws {
        let positions: [Int64] = [
            .max, .max - 1000, .min, .min + 1, -1, -2, 0, 1, 1 << 62, 1 << 61, 1 << 48, 1 << 47, 48_000,
        ]
        var paths: [String] = []
        for first in positions {
            for last in positions {
                var file = try OggFile(SampleFile.of(kind).bytes)
                file.sound = Array(file.sound.prefix(2))
                for (page, position) in [(0, first), (1, last)] {
                    file.sound[page].replaceSubrange(
                        6..<14,
                        with: withUnsafeBytes(of: position.littleEndian, Array.init)
                    )
                }
                file.sound[1][5] |= 4
                paths.append(folder.path("\(paths.count)-\(kind.fileName)"))
                try Bytes.write(file.renumbered, to: paths[paths.count - 1])
            }
        }
        try expectAnswers(paths)
    }

    /// RF64 headers with extreme sizes, rates and widths. None of them is shown as years of sound.
    @Test func claimsOfWideHeadersAreNoLength() throws {
        var paths: [String] = []
        for size in Self.ends {
            let widths: [(rate: UInt32, channels: UInt16, bits: UInt16)] = [
                (1, 1, 8), (8_000, 2, 16), (0x7FFF_FFFF, 65_535, 16), (0xFFFF_FFFF, 1, 8),
            ]
            for (rate, channels, bits) in widths {
                var bytes = Array("RF64".utf8)
                bytes.append(little: UInt32.max)
                bytes += Array("WAVEds64".utf8)
                bytes.append(little: UInt32(28))
                for number in [5_000, size, size] { bytes.append(little: number) }
                bytes.append(little: UInt32(0))
                bytes += Array("fmt ".utf8)
                bytes.append(little: UInt32(16))
                bytes.append(little: UInt16(1))
                bytes.append(little: channels)
                bytes.append(little: rate)
                bytes.append(little: UInt32(truncatingIfNeeded: UInt64(rate) * UInt64(channels) * UInt64(bits / 8)))
                bytes.append(little: UInt16(truncatingIfNeeded: Int(channels) * Int(bits / 8)))
                bytes.append(little: bits)
                bytes += Array("data".utf8)
                bytes.append(little: UInt32.max)
                bytes += [UInt8](repeating: 1, count: 5_000)
                paths.append(folder.path("\(paths.count).wav"))
                try Bytes.write(bytes, to: paths[paths.count - 1])
            }
        }
        try expectAnswers(paths)
        for path in paths {
            let input = try OpenFile.reading(path)
            guard let reader = try? Reader(descriptor: input.descriptor, options: .init()) else { continue }
            for track in reader.description.tracks {
                guard let frames = track.plausibleFrames else { continue }
                #expect(frames <= max(20_000, 600 * Int64(track.sampleRateHz)), "\(path): \(frames)")
            }
        }
    }
}
