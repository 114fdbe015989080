import Conversion
import TestSupport
import Testing

@testable import Media

/// Headers that claim too much sound, too little, or none.
@Suite struct DamageHeaderTests {
    private static let sound = Signal.sweep(rate: 22_050, frames: 5_001).pcm(.s16)

    @Test(arguments: [0, 0xFFFF_FFFF] as [UInt32]) func unknownSizeIsNoDamage(size: UInt32) throws {
        let bytes = try WAVFile.bytes(Self.sound, options: .init(claimedDataSize: size))
        let check = try DamageCheck(bytes, as: .wav, "size \(size)")
        #expect(check.strict.error == nil)
        #expect(check.strict.frames == 5_001)
        #expect(check.strict.promised == nil)
    }

    @Test func moreClaimedThanThereIsMeansCut() throws {
        let bytes = try WAVFile.bytes(Self.sound, options: .init(claimedDataSize: 20_000))
        let check = try DamageCheck(bytes, as: .wav, "10,000 frames claimed")
        let error = try #require(check.strict.error)
        #expect(error.code == .truncated && error.stage == .decode)
        #expect(error.frame == 5_001 && error.position == MediaTime(frames: 5_001, rate: 22_050))
        #expect(check.conceal.frames == 10_000)
        #expect(check.conceal.account.stretches == [.init(start: 5_001, frames: 4_999, code: .truncated)])
    }

    @Test func oddByteBehindTheLastFrameIsPadding() throws {
        let odd = Signal.sweep(rate: 8_000, frames: 1_001).pcm(.s24)
        for size in [nil, 0, 3_003, 3_004] as [UInt32?] {
            let check = try DamageCheck(
                WAVFile.bytes(odd, options: .init(claimedDataSize: size)),
                as: .wav,
                "claimed \(size.map(String.init) ?? "truly")"
            )
            #expect(check.strict.error == nil)
            #expect(check.strict.frames == 1_001)
        }
    }

    @Test func halfAFrameAtAnUnknownEndMeansCut() throws {
        let wide = Signal.sweep(rate: 8_000, frames: 1_000, channels: 2).pcm(.s16)
        let bytes = try WAVFile.bytes(wide, options: .init(claimedDataSize: 0))
        let check = try DamageCheck(Damage.cut(bytes, to: bytes.count - 2), as: .wav, "half a frame")
        #expect(check.strict.error?.code == .truncated)
    }

    @Test func soundBehindTheClaimedSizeIsNoSound() throws {
        for kind in [SampleFile.Kind.wav, .au, .aiff, .w64, .cafPCM] {
            let sample = try SampleFile.of(kind)
            let check = try DamageCheck(sample.bytes + Damage.junk(4_000), as: kind, "junk behind")
            #expect(check.strict.error == nil)
            #expect(check.strict.samples == sample.clean.samples)
        }
    }
}

/// FLAC's statements about itself, and those that it may leave out.
@Suite struct DamageFLACTests {
    private let sample: SampleFile
    /// Where STREAMINFO's content begins.
    private static let streamInfo = 8

    init() throws { sample = try SampleFile.of(.flac) }

    private func patched(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
        var bytes = sample.bytes
        change(&bytes)
        return bytes
    }

    private func withoutLength() -> [UInt8] {
        patched {
            $0[Self.streamInfo + 13] &= 0xF0
            for index in 14..<18 { $0[Self.streamInfo + index] = 0 }
        }
    }

    @Test func unknownLengthIsReadToTheEnd() throws {
        let check = try DamageCheck(withoutLength(), as: .flac, "no length")
        #expect(check.strict.error == nil)
        // libav would estimate a length from the bit rate.
        #expect(check.strict.length == .none)
        #expect(check.strict.samples == sample.clean.samples)
        let cut = try DamageCheck(Damage.cut(withoutLength(), to: 60_000), as: .flac, "no length, cut in a frame")
        #expect(cut.strict.error?.code == .truncated)
    }

    @Test func firstAndLastFrameAreMissedInTheirPlaces() throws {
        let packets = try sample.packets()
        let first = packets[0].lowerBound
        let head = try DamageCheck(patched { $0[first + 200] ^= 1 }, as: .flac, "first frame")
        #expect(head.strict.error?.frame == 0 && head.strict.error?.code == .corruptStream)
        #expect(head.strict.error?.libavName == "INVALIDDATA")
        #expect(head.conceal.account.stretches == [.init(start: 0, frames: 2048, code: .corruptStream)])
        #expect(head.conceal.samples[2048...] == sample.clean.samples[2048...])
        let gone = Damage.without(sample.bytes, at: first, count: packets[2].lowerBound - first)
        let missing = try DamageCheck(gone, as: .flac, "without two frames")
        #expect(missing.conceal.account.frames == 4096)
        #expect(missing.conceal.samples[4096...] == sample.clean.samples[4096...])
        let tail = try DamageCheck(patched { $0[$0.count - 50] ^= 1 }, as: .flac, "last frame")
        #expect(tail.conceal.frames == sample.clean.frames)
        #expect(tail.conceal.account.stretches.first.map { Int($0.start + $0.frames) } == sample.clean.frames)
    }

    @Test func tagBeforeTheSignatureIsPassedOver() throws {
        let tag = Array("ID3".utf8) + [4, 0, 0, 0, 0, 0, 40] + [UInt8](repeating: 0, count: 40)
        let check = try DamageCheck(tag + sample.bytes, as: .flac, "ID3 before FLAC")
        #expect(check.strict.samples == sample.clean.samples)
    }

    @Test func missingHeaderIsRefusedOrNotNeeded() throws {
        let frames = try sample.packets()[0].lowerBound
        let bare = try DamageCheck(Array(sample.bytes[frames...]), as: .flac, "frames only")
        #expect(bare.strict.error == nil && bare.strict.samples == sample.clean.samples)
        let renamed = try DamageCheck(patched { $0[4] = 4 }, as: .flac, "another block in its place")
        #expect(renamed.strict.error?.code == .unreadableContainer)
    }

    @Test func digestIsComparedForThoseWhoAsk() throws {
        let wrong = patched { $0[Self.streamInfo + 20] ^= 1 }
        #expect(try Readout(wrong, name: "a.flac").error == nil)
        let checked = try Readout(wrong, name: "a.flac", checksDigest: true)
        #expect(checked.error?.code == .corruptStream)
        #expect(checked.frames == sample.clean.frames)
        let borne = try Readout(wrong, .conceal, name: "a.flac", checksDigest: true)
        #expect(borne.error == nil && !borne.account.isEmpty && borne.account.frames == 0)
        // All zeros mean that the digest was never computed.
        let unset = patched { for index in 18..<34 { $0[Self.streamInfo + index] = 0 } }
        #expect(try Readout(unset, name: "a.flac", checksDigest: true).error == nil)
    }

    @Test(arguments: [("s16", 16, 1), ("s16", 16, 2), ("s32", 24, 2)]) func digestIsComputedInEveryDepth(
        format: String,
        bits: Int,
        channels: Int
    ) throws {
        let folder = try TemporaryFolder.create()
        let sound = Signal.ramp24(rate: 48_000, frames: 10_000, channels: channels).pcm(bits == 24 ? .s24 : .s16)
        try FFmpeg.encode(sound, to: folder.path("a.flac"), ["-sample_fmt", format, "-bits_per_raw_sample", "\(bits)"])
        let read = try Readout(Bytes.read(folder.path("a.flac")), name: "a.flac", checksDigest: true)
        #expect(read.error == nil && read.frames == 10_000)
    }

    @Test func conversionThatVerifiesChecksTheSource() throws {
        let folder = try TemporaryFolder.create()
        try Bytes.write(patched { $0[Self.streamInfo + 20] ^= 1 }, to: folder.path("a.flac"))
        let source = try OpenFile.reading(folder.path("a.flac"))
        for verifies in [false, true] {
            let destination = try OpenFile.creating(folder.path("a.wav"))
            let converter = Converter(.init(format: AudioFormat(container: .wav), verifies: verifies))
            let run = { try converter.run(from: source.descriptor, to: destination.descriptor) }
            if verifies {
                let error = #expect(throws: MediaError.self) { try run() }
                #expect(error?.code == .corruptStream)
            } else {
                #expect(try run().summary.writtenFrames == 55_125)
            }
        }
    }
}
