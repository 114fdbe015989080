import Conversion
import Foundation
import TestSupport
import Testing

@testable import Media

/// Findings of `make fuzz`, minimised.
@Suite struct FuzzFindingsTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    /// Regression: the mismatch was reported as an internal error, and the user was asked to report it.
    @Test func packetsBeyondThePromisedLengthAreTheSourcesFault() throws {
        let path = folder.path("long.flac")
        try WAVFile.write(Signal.noise(seed: 1, rate: 16_000, frames: 16_000).pcm(.s16), to: folder.path("a.wav"))
        try Converted.file(folder.path("a.wav"), to: path, as: AudioFormat(container: .flac))
        var bytes = try Bytes.read(path)
        // STREAMINFO counts frames in 36 bits; these are the last 32.
        bytes.replaceSubrange(22..<26, with: [0, 0, 0x10, 0])
        try Bytes.write(bytes, to: path)
        let code = Converted.code {
            try Converted.file(path, to: folder.path("out.mka"), as: AudioFormat(container: .mka, codec: .copy))
        }
        #expect(code == .corruptStream)
    }

    /// To classify a packet that cannot be decoded, the reader looks at the next packet, whose failure had no code.
    /// That packet claims more bytes than libav ever reads at once, which is damage like any other.
    @Test(arguments: [
        (DamageMode.strict, FailureCode.corruptStream as FailureCode?), (.conceal, nil), (.skip, nil),
    ])
    func failureBehindAFailureHasACode(damage: DamageMode, code: FailureCode?) throws {
        let found = """
            AAAAIGZ0eXBpc29tAAACAGlzb21pc282aXNvMm1wNDEAAALwbW9vdgAAAGxtdmhkAAAAAAAAAAAAAAAAAAAD6AAAAAAAAQAAAQAAAAAA
            AAAAAAAAAAEAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgAAAb90cmFr
            AAAAXHRraGQAAAADAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAEBAAAAAAEAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAA
            AABAAAAAAAAAAAAAAAAAAAFbbWRpYQAAACBtZGhkAAAAAAAAAAAAAAAAAAA+gAAAAABVxAAAAAAALWhkbHIAAAAAAAAAAHNvdW4AAAAA
            AAAAAAAAAABTb3VuZEhhbmRsZXIAAAABBm1pbmYAAAAQc21oZAAAAAAAAAAAAAAAJGRpbmYAAAAcZHJlZgAAAAAAAAABAAAADHVybCAA
            AAABAAAAynN0YmwAAAB+c3RzZAAAAAAAAAABAAAAbm1wNGEAAAAAAAAAAQAAAAAAAAAAAAIAEAAAAAA+gAAAAAAANmVzZHMAAAAAA4CA
            gCUAAQAEgICAF0AVAAAAAAH0AAAB9AAFgICABRQQVuUABoCAgAECAAAAFGJ0cnQAAAAAAAH0AAAB9AAAAAAQc3R0cwAAAAAAAAAAAAAA
            EHN0c2MAAAAAAAAAAAAAABRzdHN6AAAAAAAAAAAAAAAAAAAAEGZ0Y28AAAAAAAAAAAAAAChtdmV4AAAAIHRyZXgAAAAAAAAAAQAAAAEA
            AAAAAAAAAAAAAAAAAACVdWR0YQAAAI1tZXRhAAAAAAAAACFoZGxyAAAAAAAAAABtZGlyYXBwbAAAAAAAAAAAAAAAAGBpbHN0AAAAH6lu
            YW0AAAAXZGF0YQAAAAEAAAAARWluIFRvbgAAAB6pQVJUAAAAFmRhdGEAAAABAAAAABtbMTVteAAAABupY210AAAAE2RhdGEAAAABAAAA
            ADEvMgAAAJRtb29mAAAAEG1maGQAAAAAAAAAAQAAAHx0cmFmAAAAJHRmaGQAAAA5AAAAAQAAAAAAAAMQAAAEAAAAAqoCAAAAAAAAFHRm
            ZHQBAAAAAAAAAAAAAAAAAAA8dHJ1bgAAAwEAAAAFAAAAnAAABAAAAAKqAAAEAAAAA1kAAAQAAAAC8wAABAAAqCSFBImWSOkiIBIpSKCS
            cTIIMhC/i8tf1c6rx8IiYJIBcqisYFmi7S+zXaL57ASZCBgpLSB+p+ldk19pX57lvhzDs6K82+ldi/FWR5NS9+iNtfXuRd1aJtIPPeaq
            Zvq2fns1P6ry3zz00uqQlG4wXK+Q+sbkNHmMXznW/1+yZr+TGvEiRS0k6nASeC0JHBSCQQEcBgiUAACVdWR0YQAAAI1tZXRhAAAAAAAA
            ACFoZGxyAAAAAAAAAABtZGlyYXBwbAAAAAAAAAAAAAAAAGBpbHN0AAAAH6luYW0AAAAXZGF0YQAAAAEAAAAARWluIFRvbgAAAB6pQVJU
            AAAAFmRhdGEAAAABAAAAABtbMzFteAAAABupY210AABtdW11bXVtdW11bXVtdFjXo16NejXr8W/Fv3r96NejXo16/ev3r96/ev3r7z7z
            7z7z7z7z7z7z7z7z7z7z7z7z7z7z7z7z7z7z96Pej3o8S/EvxL8SPEj3o96PEjxI8SPEiI8SPEjxI8SPEjxI8SPEjxI5BZBZBZBZBZBZ
            BZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBZBcyfMnzJ8yfMnzJ8yfMnzJ8yfMnzJ8yfMn
            zJ8yeBgYGBgYGBgYGBgYGBgYGBkJ0cnOkEJscnNjkJ8knNkEJ0knNkEJsknMkEJsknMkEJsknMkkJkknMkkJkknMkkJkonMlEJcknMlE
            JconMlEJconLlEJconLlEJconLlEJcsnLlyA/YrK1sxxq4CJkvJMrWTHDE49f/cAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
            ABwhT2z+YP///////E1gRIFrtV4xQ3+KN/ii//i/+2r1ccus+f2/E0QSLnEnPyqgkNGVQEVrJGhkVBJMSRKmxgEmwyKoJIUEiZZI6SIg
            EilIoJJxMggyEL+Ly1/VzqvHwiJgkgFyqKxgWaLtL6azXaL57ASZCBgpLSB+p+ldk19pX57lvhzDs6K82+ldi/FWR5NS9+iNtfXuRd1a
            JtIPPeaqZvq2fns1P6ry3zz00uqQlG4wXK+Q+sbkNHmMXznW/1+yZr+TGvEiRS0k6nASeC0JHBSCQQEcBgiUDKRm0SUKMRkzSUOMRjSy
            UGIRgwyTYBGRNJQoxGDDJNaRmUCU2WRjyiUKMRkzSUSARjRyT4BF7yS2kZsklEkEVvJSZRGJFJPORhnJQmkYSyTVkSnqYBExiSyZVASG
            C3S/2uIQjJoUX2nMVpps5zUX5PjzRKoiR4AigWsfyP5H8v/4v/tq9d+0cuq+f2/E+/HTjXHXO8+3/8X/n9e2ru71dVX/x/+3/f/GtXNc
            Tis5AEwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAOCFP2v///////g7sZJf1GDf1GC/4/f+bq/f8VreuK/b/0/n9/PWprq9Zvf/H
            /9v/P+3ni741xe82MS9NxHt62u4VIhTuqJOxYRELlKigOmgQuqZhw37NsX7zs791zbsa2dG4trbCdti7nG3WLtqna1WNiiCEQg1VTVTc
            WqqZ2NU1U1plpllplpplpmky0y0yy0y0y00y0y0SEhJwGBjYSEnN0CQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAHAhQNpGCMHAAAAAQ21m
            cmEAAAArdGZyYQEAAAAAAAABAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAMQAQEBAAAAEG1mcm8AAAAAAAAAQw==
            """
        let error = try error(of: found, as: AudioFormat(container: .wav), damage)
        #expect((error as? MediaError)?.code == code && (error == nil) == (code == nil), "\(String(describing: error))")
    }

    /// Regression: this was reported as a disk failure, which is retried and puts the mount under suspicion.
    @Test func failureOfWhatASourceHoldsIsNotTheSystems() throws {
        try WAVFile.write(Signal.noise(seed: 1, rate: 16_000, frames: 100).pcm(.s16), to: folder.path("a.wav"))
        let source = try OpenFile.reading(folder.path("a.wav"))
        let reader = try Reader(descriptor: source.descriptor)
        let error = try reader.samples(of: reader.track()).unreadable(.invalid("av_read_frame"))
        #expect(error.code == .corruptStream && error.libavName == "EINVAL")
    }

    /// One second has a thousand million frames here. At a rate that can be encoded, its 3,200 frames are less than
    /// one. Regression: their number was computed as negative.
    @Test func soundThatComesToNoFrameIsAnEmptyOutput() throws {
        let found = """
            UklGRmoZAABXQVZFZm10IBIAAAAHAAIAgAAAPgB9AAACAAgAAABmYWN0BAAAAIAMAABMSVNUMAAAAElORk9JQVJUBwAAABtbMzFteAAA
            SUNNVAQAAAAxLzIAJ05BTQgAAABFaW4gVG9uAGRhdGEAGQAAAjDw8PDwAAAAADDw8PDwAAAABGHh4ePAAAAAMw8PHhwAAIAWDgLg8HQ6
            IBwOAgKAIAAEAZMCIAv/MAkBYLAEtyMBcI38TAABUEkKAZzD+DIMRpEo5Jl7RM/Pz8/Pz8/Pz8/Pz8/Pz8/Pz8/Pz8/Pz8/Pz8/Pz8/P
            z8/Pz8/Pz8/PzyAEYN4AYAIlAwcAJCQdHRkZFRUSEhAQEBAQEBAQEhIVFRgYHBwjIy0tQUHNzbGxpqaenpmZlpaTk5GRkJCQkJCQkpKU
            lJiYnJyhoaurvLxbWzQzJyfp3f//FhYTExEREBAPDxAQEREU//////////8pNzY=
            """
        for container in [Container.mp3, .flac, .m4a] {
            let error = try error(of: found, as: AudioFormat(container: container, sampleRateHz: 8_000), .skip)
            #expect((error as? MediaError)?.code == .emptyOutput, "\(container): \(String(describing: error))")
        }
    }

    /// The error from converting a file given in Base64, or `nil`.
    private func error(of file: String, as format: AudioFormat, _ damage: DamageMode) throws -> (any Error)? {
        let data = try #require(Data(base64Encoded: file, options: .ignoreUnknownCharacters))
        try Bytes.write([UInt8](data), to: folder.path("found"))
        let source = try OpenFile.reading(folder.path("found"))
        let destination = try OpenFile.creating(folder.path("out"))
        do {
            _ = try Converter(.init(format: format, damage: damage)).run(
                from: source.descriptor,
                to: destination.descriptor
            )
            return nil
        } catch {
            return error
        }
    }
}
