import TestSupport
import Testing

/// Machine-readable output, compared word by word: a changed name would break users' scripts.
struct GoldenTests {
    let material: Material

    init() throws { material = try Material() }

    private func output(_ words: String...) throws -> String {
        try Sluice.run(words, in: material.folder).outputText
    }

    @Test func convertedFiles() throws {
        let records = [
            try output("convert", "talk.wav", "talk.flac", "--verify", "--json"),
            try output("convert", "talk.wav", "part.wav", "--from", "0.1", "--to", "0.2", "--rate", "16k", "--json"),
            try output("convert", "talk.wav", "lost.w64", "--tag", "mood=calm", "--json"),
            try output("convert", "talk.flac", "copy.mka", "--preset", "passthrough", "--json"),
            try output("convert", "talk.wav", "talk.flac", "--on-conflict", "skip", "--json"),
        ]
        try Golden.expect(records.joined(), is: "convert.jsonl")
    }

    @Test func failures() throws {
        try material.addDamaged()
        try material.addText()
        let records = [
            try output("convert", "missing.wav", "out.wav", "--json"),
            try output("convert", "talk.wav", "missing/out.wav", "--json"),
            try output("convert", "talk.wav", "talk.wav", "--json"),
            try output("convert", "text.wav", "out.wav", "--json"),
            try output("convert", "damaged.flac", "out.wav", "--json"),
            try output("convert", "talk.wav", "out.aiff", "--endian", "little", "--bits", "64", "--json"),
            try output("convert", "talk.wav", "out.wav", "--track", "3", "--json"),
            try output("convert", "talk.wav", "out.wav", "--from", "9", "--json"),
            try output("probe", "missing.wav", "--json"),
        ]
        try Golden.expect(records.joined(), is: "failures.jsonl")
    }

    @Test func damageThatIsBorne() throws {
        try material.addDamaged()
        let records = [
            try output("convert", "damaged.flac", "out.wav", "--on-damage", "conceal", "--json"),
            try output("probe", "--scan", "damaged.flac", "--json"),
        ]
        try Golden.expect(records.joined(), is: "damage.jsonl")
    }

    @Test func loudness() throws {
        let records = [
            try output("probe", "--loudness", "--json", "talk.wav"),
            try output("convert", "talk.wav", "talk.flac", "--loudness", "-30LUFS", "--json"),
            try output("convert", "talk.wav", "loud.wav", "--loudness", "-5", "--true-peak", "-12dBTP", "--json"),
        ]
        try Golden.expect(records.joined(), is: "loudness.jsonl")
    }

    @Test func specs() throws {
        try Golden.expect(try output("probe", "--spec", "acx", "--json", "talk.wav"), is: "spec.jsonl")
    }

    @Test func probedFiles() throws {
        try material.addTwoTracks()
        try material.addSixChannels()
        _ = try output("convert", "talk.wav", "talk.m4a")
        let records = [
            try output("probe", "--json", "talk.wav", "talk.m4a", "two.mka", "six.wav"),
            try output("probe", "--json", "--scan", "talk.wav", "two.mka"),
        ]
        try Golden.expect(records.joined(), is: "probe.jsonl")
    }

    @Test func formats() throws {
        try Golden.expect(output("formats", "--json"), is: "formats.jsonl")
    }

    @Test func presets() throws {
        try Golden.expect(output("presets", "--json"), is: "presets.jsonl")
    }

    @Test func presetsForAFile() throws {
        try material.addTwelveChannels()
        try Golden.expect(output("presets", "--for", "talk.wav", "--json"), is: "presets-for-stereo.jsonl")
        try Golden.expect(output("presets", "--for", "twelve.wav", "--json"), is: "presets-for-twelve-channels.jsonl")
    }
}
