import TestSupport
import Testing

@testable import Media

/// For any damage: output is never short without a report, and the damage account agrees with the clock.
@Suite struct DamageInvariantTests {
    @Test(arguments: SampleFile.Kind.allCases) func cleanFilesAreReadWhole(kind: SampleFile.Kind) throws {
        let clean = try SampleFile.of(kind).clean
        #expect(clean.error == nil)
        #expect(clean.account.isEmpty)
        if let promised = clean.promised { #expect(clean.frames == promised) }
        // 55,125 frames at 44.1 kHz are 60,000 at Opus's 48 kHz.
        let sound = clean.rate == 48_000 ? 60_000 : 55_125
        #expect((sound - 2048..<sound + 4096).contains(clean.frames))
    }

    @Test(arguments: SampleFile.Kind.allCases) func seededDamageKeepsTheClock(kind: SampleFile.Kind) throws {
        let sample = try SampleFile.of(kind)
        let bytes = sample.bytes
        for seed in 1...2 as ClosedRange<UInt64> {
            var generator = SeededGenerator(seed: seed)
            let place = generator.whole(in: bytes.count / 10..<bytes.count)
            let count = generator.whole(in: 1..<bytes.count / 10)
            try DamageCheck(Damage.hole(bytes, at: place, count: count), as: kind, "hole \(place)+\(count)")
            try DamageCheck(Damage.cut(bytes, to: place), as: kind, "cut to \(place)")
            try DamageCheck(Damage.without(bytes, at: place, count: count), as: kind, "without \(place)+\(count)")
            let junk = Damage.inserted(Damage.junk(count), into: bytes, at: place)
            try DamageCheck(junk, as: kind, "inserted \(count) at \(place)")
            let rate = [0, 0.0005, 0.01][Int(seed)]
            let flipped = Damage.flipped(bytes, seed: seed, rate: rate, from: bytes.count / 20)
            try DamageCheck(flipped, as: kind, "flipped \(rate), seed \(seed)")
        }
    }
}
