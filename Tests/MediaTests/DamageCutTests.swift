import Conversion
import TestSupport
import Testing

@testable import Media

/// Truncated files, as after an aborted download or on a full disk.
@Suite struct DamageCutTests {
    @Test(arguments: SampleFile.Kind.allCases) func cutFileIsRefusedOrFilledUp(kind: SampleFile.Kind) throws {
        let sample = try SampleFile.of(kind)
        let end = try #require(sample.packets().last).upperBound
        for fraction in [0.4, 0.75] {
            // An index or tags may follow the last packet.
            let place = Int(Double(end) * fraction) | 7
            let check = try DamageCheck(Damage.cut(sample.bytes, to: place), as: kind, "cut to \(fraction)")
            // Bare frames promise nothing: the reader drops the incomplete frame and remarks on it
            // (`PartialFrameTests`).
            if SampleFile.Kind.bareWithoutLength.contains(kind) {
                #expect(check.strict.error == nil && check.strict.frames > 20_000)
                #expect(SampleMath.isPrefix(check.strict.samples, of: sample.clean.samples, leavingOut: 4096))
                continue
            }
            let error = try #require(check.strict.error)
            if SampleFile.Kind.withIndexBehind.contains(kind) {
                #expect(error.code == .unreadableContainer && error.stage == .open)
                continue
            }
            #expect(error.code == .truncated)
            #expect(error.stage == .decode)
            #expect(check.conceal.account.stretches.last?.code == .truncated)
            // Ogg states its length on the last page, which is gone.
            guard let promised = check.conceal.promised else { continue }
            #expect(check.conceal.frames == promised)
            let heard = check.skip.frames
            #expect(check.conceal.samples[..<heard] == sample.clean.samples[..<heard])
            #expect(check.conceal.isSilent(in: heard..<promised))
        }
    }

    @Test(arguments: SampleFile.Kind.allCases.filter { !SampleFile.Kind.withIndexBehind.contains($0) })
    func cutBetweenTwoFramesIsNoticedWhereTheLengthIsKnown(kind: SampleFile.Kind) throws {
        let sample = try SampleFile.of(kind)
        let packets = try sample.packets()
        let place = packets[packets.count * 2 / 3].lowerBound
        let check = try DamageCheck(Damage.cut(sample.bytes, to: place), as: kind, "cut between frames")
        // Ogg's last page states the length, and the cut removes it: see `OggExcerptTests`.
        if SampleFile.Kind.withoutLength.contains(kind) || kind.isPaged {
            #expect(SampleMath.isPrefix(check.strict.samples, of: sample.clean.samples, leavingOut: 4096))
            if kind != .tsAAC { #expect(check.strict.error == nil) }
        } else {
            #expect(check.strict.error?.code == .truncated)
        }
    }

    @Test(arguments: SampleFile.Kind.allCases.filter { !SampleFile.Kind.withIndexBehind.contains($0) })
    func cutInTheLastFrameIsNoticed(kind: SampleFile.Kind) throws {
        let sample = try SampleFile.of(kind)
        let last = try #require(sample.packets().last)
        // On an Ogg page or in transport stream packets, the last bytes of sound lie elsewhere.
        let place = kind.isPaged ? sample.bytes.count - 3 : last.upperBound - 3
        let check = try DamageCheck(Damage.cut(sample.bytes, to: place), as: kind, "cut in the last frame")
        if SampleFile.Kind.bareWithoutLength.contains(kind) { return #expect(check.strict.error == nil) }
        // WMA pads its last packet with zeros.
        if kind == .wma, check.strict.error == nil { return #expect(check.strict.samples == sample.clean.samples) }
        #expect([.truncated, .corruptStream].contains(check.strict.error?.code))
    }

    @Test(arguments: [SampleFile.Kind.mkaAAC, .mkaOpus, .webmOpus, .fragmentedMP4])
    func cutBehindTheSoundCostsNothing(kind: SampleFile.Kind) throws {
        let sample = try SampleFile.of(kind)
        let last = try #require(sample.packets().last)
        #expect(last.upperBound < sample.bytes.count - 8)
        let check = try DamageCheck(Damage.cut(sample.bytes, to: sample.bytes.count - 4), as: kind, "cut in the index")
        #expect(check.strict.error == nil)
        #expect(check.strict.samples == sample.clean.samples)
    }
}
