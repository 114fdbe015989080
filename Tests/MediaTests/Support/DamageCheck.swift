import Conversion
import TestSupport
import Testing

@testable import Media

/// Expectations that hold for every source, however damaged, in the three damage modes.
struct DamageCheck {
    let strict: Readout
    let conceal: Readout
    let skip: Readout
    private let label: String
    private let location: SourceLocation

    /// Reads `bytes` in all modes and checks the expectations that always hold.
    @discardableResult
    init(_ bytes: [UInt8], as kind: SampleFile.Kind, _ label: String, location: SourceLocation = #_sourceLocation)
        throws
    {
        strict = try Readout(bytes, .strict, name: kind.fileName)
        conceal = try Readout(bytes, .conceal, name: kind.fileName)
        skip = try Readout(bytes, .skip, name: kind.fileName)
        self.label = "\(kind.rawValue), \(label)"
        self.location = location
        // A damaged header that promises days is believed. Such a read is cut off here and not checked.
        if conceal.isCutOff || skip.isCutOff { return }
        successIsWhole()
        modesAgree()
        accountIsInOrder()
    }

    private func expect(_ condition: Bool, _ what: String) {
        #expect(
            condition,
            """
            \(label): \(what). Promised \(strict.length); strict \(strict.frames) \(strict.error?.description ?? "-"); \
            conceal \(conceal.frames) \(conceal.error?.description ?? "-") \(conceal.account.stretches.prefix(5)); \
            skip \(skip.frames), \(skip.account.frames) lost
            """,
            sourceLocation: location
        )
    }

    private func successIsWhole() {
        if strict.error == nil {
            expect(strict.account.isEmpty, "strict tolerates no damage")
            expect(strict.frames >= strict.promised ?? 0, "a success has the promised length")
            let isSame = SampleMath.areEqual(strict.samples, conceal.samples)
            expect(isSame && conceal.account.isEmpty, "no mode changes an undamaged source")
        } else if conceal.error?.code == .concealRefused {
            expect(strict.error?.code.isDamage == true, "only damage may be concealed")
        } else if conceal.error == nil {
            expect(!conceal.account.isEmpty, "damage that strict refuses is in the account")
            let isSame = SampleMath.isPrefix(strict.samples, of: conceal.samples)
            expect(isSame, "the sound before the damage is the same")
        }
        if let error = strict.error, error.stage == .decode, error.code != .noDecodableFrame {
            expect(error.stream == 0 && error.position != nil && error.frame != nil, "the error states its position")
        }
    }

    private func modesAgree() {
        // Too much silence is refused where only the container says that something is missing.
        expect(
            conceal.error?.code == skip.error?.code || conceal.error?.code == .concealRefused,
            "conceal and skip end in the same way"
        )
        guard conceal.error == nil, skip.error == nil, conceal.hasOneRate else { return }
        expect(conceal.frames == skip.frames + Int(skip.account.frames), "the skipped frames are the missing frames")
        expect(conceal.account == skip.account, "both modes record the same damage")
        guard let promised = conceal.promised else { return }
        expect(conceal.frames >= promised, "silence keeps the promised length")
        // In an appended MP3, the header does not count the sound of the second file.
        if !conceal.account.isEmpty, conceal.frames > promised {
            expect(label.hasPrefix("mp3"), "there is no more sound than promised")
        }
    }

    private func accountIsInOrder() {
        let stretches = conceal.account.stretches
        expect(
            zip(stretches, stretches.dropFirst()).allSatisfy { $0.start + $0.frames <= $1.start },
            "stretches are in order"
        )
        expect(stretches.allSatisfy { $0.start >= 0 && $0.frames >= 0 }, "no stretch is negative")
        guard conceal.account.stretchCount == stretches.count, conceal.error == nil, conceal.hasOneRate else { return }
        expect(stretches.reduce(0) { $0 + $1.frames } == conceal.account.frames, "the stretches sum to the total")
        expect(stretches.allSatisfy { $0.start + $0.frames <= conceal.frames }, "stretches lie within the sound")
        let silent = stretches.allSatisfy { conceal.isSilent(in: Int($0.start)..<Int($0.start + $0.frames)) }
        expect(silent, "damage is silent")
    }
}
