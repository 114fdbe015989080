import Conversion
import TestSupport
import Testing

@testable import Media

/// What holds for every source, however damaged, in the three modes.
struct DamageCheck {
    let strict: Readout
    let conceal: Readout
    let skip: Readout
    private let label: String
    private let location: SourceLocation

    /// Reads `bytes` in all modes and expects what must always be true.
    @discardableResult
    init(_ bytes: [UInt8], as kind: SampleFile.Kind, _ label: String, location: SourceLocation = #_sourceLocation)
        throws
    {
        strict = try Readout(bytes, .strict, name: kind.fileName)
        conceal = try Readout(bytes, .conceal, name: kind.fileName)
        skip = try Readout(bytes, .skip, name: kind.fileName)
        self.label = "\(kind.rawValue), \(label)"
        self.location = location
        // A damaged header that promises days is taken at its word; who has the disk space may hear it out.
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
            expect(strict.account.isEmpty, "strict bears no damage")
            expect(strict.frames >= strict.promised ?? 0, "a success has the promised length")
            expect(strict.samples == conceal.samples && conceal.account.isEmpty, "no mode changes what is not damaged")
        } else if conceal.error == nil {
            expect(!conceal.account.isEmpty, "what strict refuses is in the account")
            expect(conceal.samples.starts(with: strict.samples), "the sound before the damage is the same")
        }
        if let error = strict.error, error.stage == .decode, error.code != .noDecodableFrame {
            expect(error.stream == 0 && error.position != nil && error.frame != nil, "the error says where")
        }
    }

    private func modesAgree() {
        expect(conceal.error?.code == skip.error?.code, "conceal and skip end alike")
        guard conceal.error == nil, skip.error == nil, conceal.hasOneRate else { return }
        expect(conceal.frames == skip.frames + Int(skip.account.frames), "what was skipped is what is missing")
        expect(conceal.account == skip.account, "both modes keep the same account")
        guard let promised = conceal.promised else { return }
        expect(conceal.frames >= promised, "silence keeps the promised length")
        // What is joined on to an MP3 is sound of which its header knows nothing.
        if !conceal.account.isEmpty, conceal.frames > promised {
            expect(label.hasPrefix("mp3"), "and no more than that")
        }
    }

    private func accountIsInOrder() {
        let stretches = conceal.account.stretches
        expect(
            zip(stretches, stretches.dropFirst()).allSatisfy { $0.start + $0.frames <= $1.start },
            "stretches follow"
        )
        expect(stretches.allSatisfy { $0.start >= 0 && $0.frames >= 0 }, "no stretch is negative")
        guard conceal.account.stretchCount == stretches.count, conceal.error == nil, conceal.hasOneRate else { return }
        expect(stretches.reduce(0) { $0 + $1.frames } == conceal.account.frames, "stretches sum up")
        expect(stretches.allSatisfy { $0.start + $0.frames <= conceal.frames }, "stretches lie in the sound")
        let silent = stretches.allSatisfy { conceal.isSilent(in: Int($0.start)..<Int($0.start + $0.frames)) }
        expect(silent, "damage is silent")
    }
}
