import Conversion
import TestSupport
import Testing

@testable import Media

/// Files with a hole in the middle.
@Suite struct DamageHoleTests {
    /// Excludes PCM, tested below, and fragmented MP4: after a hole in the chain of fragments nothing is found.
    private static let kinds = SampleFile.Kind.allCases.filter {
        !SampleFile.Kind.pcm.contains($0) && ![.fragmentedMP4, .mkaPCM].contains($0)
    }
    /// Their frames differ in size and nothing states their number, so the length of the hole is an estimate.
    private static let estimated: Set<SampleFile.Kind> = [.mp3VBRWithoutHeader, .adts]

    @Test(arguments: kinds) func holeIsSilentAndTheRestInItsPlace(kind: SampleFile.Kind) throws {
        let sample = try SampleFile.of(kind)
        let packets = try sample.packets()
        let begin = packets[packets.count / 2].lowerBound + 5
        let holed = Damage.hole(sample.bytes, at: begin, count: sample.bytes.count / 25)
        let check = try DamageCheck(holed, as: kind, "hole at \(begin)")
        #expect([.corruptStream, .timelineGap].contains(check.strict.error?.code))
        let (clean, concealed) = (sample.clean, check.conceal)
        let stretches = concealed.account.stretches
        let first = try #require(stretches.first)
        let last = try #require(stretches.last)
        // The frame in which the hole begins may still look intact.
        let before = 0..<max(0, Int(first.start) - 4096)
        #expect(before.count > 15_000)
        #expect(concealed.samples[before] == clean.samples[before])
        if Self.estimated.contains(kind) { return #expect(abs(concealed.frames - clean.frames) <= 1152) }
        #expect(concealed.frames == clean.frames)
        // A decoder needs a few frames to regain its state.
        let settled = Int(last.start + last.frames) + 8 * 1152
        let end = min(clean.frames, concealed.frames) - 1152
        guard settled + 2000 < end else { return #expect(kind == .tta) }
        #expect(concealed.fit(clean, in: settled..<end) > 0.97)
    }

    @Test(arguments: SampleFile.Kind.pcm) func holeInPCMIsSoundLikeAnyOther(kind: SampleFile.Kind) throws {
        let sample = try SampleFile.of(kind)
        let middle = sample.bytes.count / 2
        let check = try DamageCheck(Damage.hole(sample.bytes, at: middle, count: 4000), as: kind, "hole")
        #expect(check.strict.error == nil)
        #expect(check.strict.frames == sample.clean.frames)
    }

    @Test func lostBlockOfMatroskaIsMissed() throws {
        for kind in [SampleFile.Kind.mkaOpus, .mkaAAC, .mkaFLAC, .mkaVorbis] {
            let sample = try SampleFile.of(kind)
            let packets = try sample.packets()
            let place = packets[packets.count / 2].lowerBound
            // The block's id becomes an unknown one, so that readers skip the element.
            let head = sample.bytes[..<place].suffix(16).lastIndex(of: 0xA3) ?? place
            var bytes = sample.bytes
            bytes[head] = 0xA2
            let check = try DamageCheck(bytes, as: kind, "a block with an unknown id")
            #expect(check.strict.error?.code == .timelineGap)
            #expect(check.conceal.frames == sample.clean.frames)
            #expect(check.conceal.account.stretchCount == 1)
        }
    }

    @Test(arguments: [SampleFile.Kind.mp4Opus, .cafOpus]) func packetThatGivesTooLittleIsNoticed(
        kind: SampleFile.Kind
    ) throws {
        let sample = try SampleFile.of(kind)
        let packets = try sample.packets()
        var bytes = sample.bytes
        // Packets of sixteen milliseconds of CELT become packets of ten milliseconds of SILK.
        for packet in packets[30..<33] { bytes[packet.lowerBound] = 0 }
        let check = try DamageCheck(bytes, as: kind, "three packets of another length")
        #expect(check.strict.error?.code == .corruptStream)
        #expect(check.conceal.account.frames == 3 * 480)
        #expect(check.conceal.frames == sample.clean.frames)
        #expect(check.conceal.fit(sample.clean, in: 40_000..<55_000) > 0.97)
    }

    @Test func damageInThePrimingIsNotSound() throws {
        let sample = try SampleFile.of(.m4aAAC)
        let first = try sample.packets()[0]
        let holed = Damage.hole(sample.bytes, at: first.lowerBound, count: first.count)
        let check = try DamageCheck(holed, as: .m4aAAC, "the priming is a hole")
        #expect(check.conceal.frames == sample.clean.frames)
        #expect(check.conceal.fit(sample.clean, in: 8_000..<40_000) > 0.99)
    }

    @Test func damagedNumbersMakeNoHoursOfSilence() throws {
        let sample = try SampleFile.of(.wavPack)
        let packets = try sample.packets()
        var bytes = sample.bytes
        // Changes the most significant bytes of the block's number and of its length.
        for packet in [packets[4], packets[7]] {
            bytes[packet.lowerBound + 19] = 0x7F
            bytes[packet.lowerBound + 23] = 0x7F
        }
        let check = try DamageCheck(bytes, as: .wavPack, "great numbers")
        #expect(check.conceal.frames == sample.clean.frames)
        // In a fragment, the time of everything after it changes: one packet would have to last a year.
        let fragments = try SampleFile.of(.fragmentedMP4)
        let flipped = Damage.flipped(fragments.bytes, seed: 46, rate: 0.002, from: fragments.bytes.count / 20)
        let late = try DamageCheck(flipped, as: .fragmentedMP4, "a year in a packet")
        #expect(late.conceal.frames <= 2 * fragments.clean.frames)
    }
}
