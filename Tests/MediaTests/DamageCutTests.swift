import TestSupport
import Testing

@testable import Media

/// Files that end too soon: a download that broke off, a disk that was full.
@Suite struct DamageCutTests {
    @Test(arguments: SampleFile.Kind.allCases) func cutFileIsRefusedOrFilledUp(kind: SampleFile.Kind) throws {
        let sample = try SampleFile.of(kind)
        let end = try #require(sample.packets().last).upperBound
        for fraction in [0.4, 0.75] {
            // Behind the last packet there may be an index, or tags.
            let place = Int(Double(end) * fraction) | 7
            let check = try DamageCheck(Damage.cut(sample.bytes, to: place), as: kind, "cut to \(fraction)")
            // Bare frames promise nothing: the incomplete one is left out, and the reader tells (`PartialFrameTests`).
            if SampleFile.Kind.bareWithoutLength.contains(kind) {
                #expect(check.strict.error == nil && check.strict.frames > 20_000)
                #expect(sample.clean.samples.starts(with: check.strict.samples.dropLast(4096)))
                continue
            }
            let error = try #require(check.strict.error)
            if SampleFile.Kind.withIndexBehind.contains(kind) {
                #expect(error.code == .unreadableContainer && error.stage == .open)
                continue
            }
            #expect(error.code == (kind == .tsAAC ? .corruptStream : .truncated))
            #expect(error.stage == .decode)
            #expect(check.conceal.account.stretches.last?.code == .truncated)
            // Ogg's length is the last page's, which is gone.
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
        // Of Ogg the last page knows the length, and here it is gone with all behind it: `OggExcerptTests`.
        if SampleFile.Kind.withoutLength.contains(kind) || kind.isPaged {
            #expect(sample.clean.samples.starts(with: check.strict.samples.dropLast(4096)))
            if kind != .tsAAC { #expect(check.strict.error == nil) }
        } else {
            #expect(check.strict.error?.code == .truncated)
        }
    }

    @Test(arguments: SampleFile.Kind.allCases.filter { !SampleFile.Kind.withIndexBehind.contains($0) })
    func cutInTheLastFrameIsNoticed(kind: SampleFile.Kind) throws {
        let sample = try SampleFile.of(kind)
        let last = try #require(sample.packets().last)
        // On a page or in a packet of a transport stream the last bytes of sound lie elsewhere.
        let place = kind.isPaged ? sample.bytes.count - 3 : last.upperBound - 3
        let check = try DamageCheck(Damage.cut(sample.bytes, to: place), as: kind, "cut in the last frame")
        if SampleFile.Kind.bareWithoutLength.contains(kind) { return #expect(check.strict.error == nil) }
        // WMA's last packet is filled up with nothing.
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
