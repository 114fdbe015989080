import Testing

@testable import Storage

struct RunningFingerprintTests {
    private func fingerprint(_ texts: String...) -> Fingerprint {
        var running = RunningFingerprint()
        for text in texts { running.add(text) }
        return running.finish()
    }

    @Test func textsAndTheirLengthsCount() {
        #expect(fingerprint("ab", "c").hexDigest == "43ee655579de01ca739b3f95c1c2d3f46d353b2c0df818064ea594506cdb2617")
        #expect(fingerprint("ab", "c") != fingerprint("a", "bc"))
        #expect(fingerprint("ab") != fingerprint("ab", ""))
        #expect(fingerprint() == fingerprint())
    }
}
