import Conversion
import Foundation
import TestSupport

@testable import Media

/// A way to provoke each error code through the public interface of the library.
struct Provocation: Sendable {
    let code: FailureCode
    let stage: Failure.Stage
    private let attempt: @Sendable (TemporaryFolder) throws -> Void

    init(
        _ code: FailureCode,
        _ stage: Failure.Stage,
        _ attempt: @escaping @Sendable (TemporaryFolder) throws -> Void
    ) {
        self.code = code
        self.stage = stage
        self.attempt = attempt
    }

    /// The resulting error. Throws a different error if the attempt succeeds.
    func error() throws -> MediaError {
        do {
            try attempt(TemporaryFolder.create())
        } catch let error as MediaError {
            return error
        }
        throw SupportError("provoke \(code.rawValue)", "nothing went wrong")
    }

    /// A Monkey's Audio file of four kilobytes that claims an index of sixty million entries.
    static var hugeIndex: [UInt8] {
        var bytes = Array("MAC ".utf8)
        bytes += littleEndian(3990 as UInt16) + [0, 0]
        for word in [52, 24, 240_000_000, 0, 1000, 0, 0] as [UInt32] { bytes += littleEndian(word) }
        bytes += [UInt8](repeating: 0, count: 16) + littleEndian(2000 as UInt16) + [0, 0]
        for word in [294_912, 1, 60_000_000] as [UInt32] { bytes += littleEndian(word) }
        bytes += [16, 0, 2, 0] + littleEndian(44_100 as UInt32)
        return bytes + [UInt8](repeating: 0, count: 4096)
    }

    static let all: [Provocation] = sources + damage + requests + outputs + budgets

    // MARK: Unusable sources

    private static let sources: [Provocation] = [
        Provocation(.emptyInput, .open) { _ in try read([], "a.mp3") },
        Provocation(.tagsOnly, .open) { _ in
            try read(Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 20] + [UInt8](repeating: 0, count: 20), "a.mp3")
        },
        Provocation(.unknownContainer, .open) { _ in try read(Array("Dear diary, nothing today.\n".utf8), "a.txt") },
        Provocation(.containerNotAllowed, .open) { _ in
            try read(Array("ffconcat version 1.0\nfile a.wav\n".utf8), "a.mp3")
        },
        Provocation(.unreadableContainer, .open) { _ in
            let sample = try SampleFile.of(.m4aAAC)
            try read(Damage.cut(sample.bytes, to: sample.bytes.count / 2), "a.m4a")
        },
        Provocation(.noAudioTrack, .probe) { folder in
            let path = folder.path("film.mp4")
            try FFmpeg.run(["-f", "lavfi", "-i", "testsrc=d=0.2:s=32x32", "-c:v", "mpeg4", path])
            try read(Bytes.read(path), "film.mp4")
        },
        Provocation(.protectedContent, .probe) { _ in
            var bytes = try SampleFile.of(.m4aAAC).bytes
            let entry = Bytes.find("mp4a", in: bytes, from: Bytes.find("stsd", in: bytes) ?? 0) ?? 0
            bytes.replaceSubrange(entry..<(entry + 4), with: Array("drms".utf8))
            try read(bytes, "a.m4p")
        },
        Provocation(.unsupportedCodec, .probe) { _ in
            var bytes = try WAVFile.bytes(Signal.tone(440, rate: 8_000, frames: 4_000).pcm(.s16))
            // TrueSpeech, which libav knows and Sluice does not read.
            bytes[20] = 0x22
            try read(bytes, "a.wav")
        },
        Provocation(.unsupportedBitDepth, .probe) { _ in
            var bytes = try SampleFile.of(.flac).bytes
            // Changes the depth minus one, which spans two bytes of STREAMINFO.
            bytes[20] |= 1
            bytes[21] |= 0xF0
            try read(bytes, "a.flac")
        },
        Provocation(.unsupportedEditList, .probe) { _ in
            var bytes = try SampleFile.of(.m4aAAC).bytes
            // The rate of the first edit, in 1/65,536.
            let rate = (Bytes.find("elst", in: bytes) ?? 0) + 20
            bytes.replaceSubrange(rate..<(rate + 4), with: [0, 2, 0, 0])
            try read(bytes, "a.m4a")
        },
        Provocation(.tooManyStreams, .open) { folder in
            let path = folder.path("many.mov")
            let maps = (0..<300).flatMap { _ in ["-map", "0:a"] }
            let silence = ["-f", "lavfi", "-i", "anullsrc=r=8000:cl=mono", "-t", "0.05"]
            try FFmpeg.run(silence + maps + ["-c:a", "pcm_s16le", path])
            try read(Bytes.read(path), "many.mov")
        },
        Provocation(.outOfMemory, .encode) { folder in
            try WAVFile.write(Signal.tone(440, rate: 44_100, frames: 44_100).pcm(.s16), to: folder.path("a.wav"))
            throw try MediaProcess.errorWithAddressSpace(of: 2_048, folder.path("a.wav"), folder.path("a.flac"), "flac")
        },
        Provocation(.sourceIO, .open) { folder in
            try WAVFile.write(Signal.silence(rate: 8_000, frames: 8_000).pcm(.s16), to: folder.path("a.wav"))
            let blind = open(folder.path("a.wav"), O_WRONLY | O_CLOEXEC)
            defer { close(blind) }
            _ = try Reader(descriptor: blind)
        },
    ]

    // MARK: Damaged sound

    private static let damage: [Provocation] = [
        Provocation(.noDecodableFrame, .open) { _ in
            let sample = try SampleFile.of(.mp3CBRWithoutHeader)
            try read(Damage.cut(sample.bytes, to: 400), "a.mp3")
        },
        Provocation(.corruptStream, .decode) { _ in
            let sample = try SampleFile.of(.flac)
            try read(Damage.hole(sample.bytes, at: sample.bytes.count / 2, count: 500), "a.flac")
        },
        Provocation(.truncated, .decode) { _ in
            let sample = try SampleFile.of(.wav)
            try read(Damage.cut(sample.bytes, to: sample.bytes.count / 2), "a.wav")
        },
        Provocation(.uncountedSound, .decode) { _ in
            let sample = try SampleFile.of(.wav)
            try read(sample.bytes + [UInt8](repeating: 1, count: 100_000), "a.wav")
        },
        Provocation(.concealRefused, .decode) { _ in
            var bytes = try SampleFile.of(.flac).bytes
            // The header promises twice the frames.
            bytes.replaceSubrange(22..<26, with: bigEndianBytes(110_250, count: 4))
            if let error = try Readout(bytes, .conceal, name: "a.flac").error { throw error }
        },
        Provocation(.timelineGap, .decode) { _ in
            let sample = try SampleFile.of(.mkaAAC)
            let packets = try sample.packets()
            let block = packets[packets.count / 2].lowerBound
            var bytes = sample.bytes
            bytes[bytes[..<block].suffix(16).lastIndex(of: 0xA3) ?? block] = 0xA2
            try read(bytes, "a.mka")
        },
    ]

    // MARK: Impossible requests

    private static let requests: [Provocation] = [
        Provocation(.noSuchTrack, .probe) { _ in
            try withSource(SampleFile.of(.wav).bytes) { _ = try Reader(descriptor: $0).track(7) }
        },
        Provocation(.sourceNotSeekable, .decode) { _ in
            let pipe = try FilledPipe.holding(SampleFile.of(.wav).bytes)
            let reader = try Reader(descriptor: pipe.reading)
            let late = try MediaTimeRange(start: time(40_000), end: time(50_000))
            let early = try MediaTimeRange(start: time(0), end: time(1_000))
            try drain(reader.samples(of: reader.track(), ranges: [late, early]))
        },
        Provocation(.rangeOutsideSource, .open) { _ in
            let beyond = try MediaTimeRange(start: time(1_000), end: time(1_000_000))
            try withSource(SampleFile.of(.wav).bytes) { descriptor in
                let reader = try Reader(descriptor: descriptor)
                try drain(reader.samples(of: reader.track(), ranges: [beyond]))
            }
        },
        Provocation(.formatRefused, .open) { folder in
            try convert(.wav, AudioFormat(container: .ogg, codec: .opus, sampleRateHz: 44_100), folder)
        },
        Provocation(.passthroughRefused, .open) { folder in
            let part = try MediaTimeRange(start: time(0), end: time(1_000))
            try convert(.mp3CBR, AudioFormat(container: .mp3, codec: .copy), folder, ranges: [part])
        },
        Provocation(.lossRefused, .open) { folder in
            let format = AudioFormat(container: .raw)
            try Converted.file(Covered.flac(), to: folder.path("out.raw"), as: format, refusesLoss: true)
        },
        Provocation(.outputTooLarge, .open) { folder in
            let sound = Signal.silence(rate: 8_000, frames: 100).pcm(.s16)
            let bytes = try WAVFile.bytes(sound, options: .init(claimedDataSize: 0xF000_0000))
            try convert(bytes, AudioFormat(container: .aiff, bitDepth: 24), folder)
        },
        Provocation(.cancelled, .decode) { _ in
            let stop = StopSignal()
            try withSource(SampleFile.of(.wav).bytes) { descriptor in
                let reader = try Reader(descriptor: descriptor, options: .init(stop: stop))
                let output = try reader.samples(of: reader.track())
                stop.stop()
                try drain(output)
            }
        },
    ]

    // MARK: Failing outputs

    private static let outputs: [Provocation] = [
        Provocation(.resampleFailed, .resample) { folder in
            let output = try OpenFile.creating(folder.path("out.wav"))
            let writer = try writer(AudioFormat(container: .wav), output.descriptor)
            try withExtendedLifetime(writer) { try append(channels: 100, to: writer.samples()) }
        },
        Provocation(.encodeFailed, .encode) { folder in
            let sound = PCM(rate: 44_100, channels: 1, format: .f32, bytes: Array(repeating: 0xFF, count: 40_000))
            try convert(WAVFile.bytes(sound), AudioFormat(container: .m4a, codec: .aac), folder)
        },
        Provocation(.emptyOutput, .finish) { folder in
            let output = try OpenFile.creating(folder.path("out.flac"))
            let writer = try writer(AudioFormat(container: .flac), output.descriptor)
            _ = try writer.samples()
            _ = try writer.finish()
        },
        Provocation(.destinationIO, .open) { folder in
            try Bytes.write([], to: folder.path("out.wav"))
            let deaf = try OpenFile.reading(folder.path("out.wav"))
            try withSource(SampleFile.of(.wav).bytes) { source in
                _ = try Converter(.init(format: AudioFormat(container: .wav))).run(from: source, to: deaf.descriptor)
            }
        },
        Provocation(.diskFull, .write) { _ in throw try ConfinedRun.errorOfFullDisk() },
        Provocation(.destinationNotSeekable, .open) { _ in
            let pipe = try OpenPipe.open()
            try withSource(SampleFile.of(.wav).bytes) { source in
                _ = try Converter(.init(format: AudioFormat(container: .wav))).run(from: source, to: pipe.writing)
            }
        },
        Provocation(.frameCountMismatch, .finish) { folder in
            // Another writer overwrites the output during the conversion.
            let output = try OpenFile.creating(folder.path("out.w64"))
            let writer = try writer(AudioFormat(container: .w64), output.descriptor)
            try fill(writer, seconds: 20)
            try Bytes.overwrite(folder.path("out.w64"), at: 40, with: [UInt8](repeating: 0, count: 4096))
            _ = try writer.finish()
        },
        Provocation(.writerFailed, .resample) { folder in
            let output = try OpenFile.creating(folder.path("out.wav"))
            let writer = try writer(AudioFormat(container: .wav), output.descriptor)
            try withExtendedLifetime(writer) {
                let input = try writer.samples()
                do { try append(channels: 100, to: input) } catch is MediaError {}
                try append(channels: 1, to: input)
            }
        },
        Provocation(.alreadyFinished, .finish) { folder in
            let output = try OpenFile.creating(folder.path("out.wav"))
            let writer = try writer(AudioFormat(container: .wav), output.descriptor)
            try fill(writer, seconds: 1)
            _ = try writer.finish()
            _ = try writer.finish()
        },
        Provocation(.verifyMismatch, .finish) { folder in
            let output = try OpenFile.creating(folder.path("out.wav"))
            let writer = try writer(AudioFormat(container: .wav), output.descriptor)
            try fill(writer, seconds: 1)
            let summary = try writer.finish()
            try Bytes.truncate(folder.path("out.wav"), toFraction: 0.5)
            try Verifier.verify(descriptor: output.descriptor, format: writer.format, against: summary)
        },
    ]
}

// MARK: - Steps

extension Provocation {
    private static func time(_ frames: Int64) -> MediaTime { MediaTime(frames: frames, rate: 44_100) }

    private static func littleEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian, Array.init)
    }

    static func read(_ bytes: [UInt8], _ name: String) throws {
        if let error = try Readout(bytes, name: name).error { throw error }
    }

    static func drain(_ output: TrackOutput) throws {
        var block = try SampleBlock()
        while try output.next(into: &block) {}
    }

    static func withSource(_ bytes: [UInt8], _ body: (Int32) throws -> Void) throws {
        let folder = try TemporaryFolder.create()
        try Bytes.write(bytes, to: folder.path("source"))
        let file = try OpenFile.reading(folder.path("source"))
        try body(file.descriptor)
    }

    private static func convert(
        _ kind: SampleFile.Kind,
        _ format: AudioFormat,
        _ folder: TemporaryFolder,
        ranges: [MediaTimeRange] = []
    ) throws {
        try convert(SampleFile.of(kind).bytes, format, folder, ranges: ranges)
    }

    private static func convert(
        _ bytes: [UInt8],
        _ format: AudioFormat,
        _ folder: TemporaryFolder,
        ranges: [MediaTimeRange] = []
    ) throws {
        let output = try OpenFile.creating(folder.path("out"))
        try withSource(bytes) { source in
            let converter = Converter(.init(format: format, ranges: ranges))
            _ = try converter.run(from: source, to: output.descriptor)
        }
    }

    private static func writer(_ format: AudioFormat, _ descriptor: Int32) throws -> Writer {
        let source = AudioShape(
            sampleRateHz: 8_000,
            channelCount: 1,
            layout: nil,
            bitDepth: 16,
            sampleKind: .integer,
            codecName: "pcm_s16le",
            isLossless: true,
            frames: nil
        )
        return try Writer(descriptor: descriptor, format: format.resolved(for: source))
    }

    /// Appends a little silence. No downmix exists for a hundred channels.
    private static func append(channels: Int, to input: WriterInput) throws {
        var block = try SampleBlock()
        try block.reserve(100, SampleShape(format: .s16, sampleRateHz: 8_000, channelCount: channels, channelMask: 0))
        block.silence()
        try input.append(&block)
    }

    /// Appends seeded noise of this many seconds.
    private static func fill(_ writer: Writer, seconds: Int) throws {
        let input = try writer.samples()
        var block = try SampleBlock()
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<seconds {
            try block.reserve(8_000, SampleShape(format: .s16, sampleRateHz: 8_000, channelCount: 1, channelMask: 0))
            block.withMutablePlane(0) { plane in
                for index in plane.indices { plane[index] = UInt8(truncatingIfNeeded: generator.next()) }
            }
            try input.append(&block)
        }
    }
}
