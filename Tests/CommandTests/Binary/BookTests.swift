import Foundation
import TestSupport
import Testing

/// `sluice join FOLDER`: books as users make them.
struct BookTests {
    private let material: Material

    init() throws {
        material = try Material()
        try FileManager.default.createDirectory(atPath: material.path("book"), withIntermediateDirectories: true)
    }

    private func sluice(_ words: String...) throws -> Run { try Sluice.run(words, in: material.folder) }
    private func samples(_ name: String) throws -> PCM { try WAVFile.read(path: material.path(name)) }

    /// Writes `book/NAME` with these tags, and returns its sound: 4800 frames of noise.
    @discardableResult
    private func file(_ name: String, seed: UInt64, _ tags: [String: String] = [:]) throws -> PCM {
        let sound = Signal.noise(seed: seed, rate: 48_000, frames: 4_800, channels: 2).pcm(.s16)
        let words = tags.sorted { $0.key < $1.key }.flatMap { ["-metadata", "\($0.key)=\($0.value)"] }
        try FFmpeg.encode(sound, to: material.path("book/\(name)"), words)
        return sound
    }

    @Test func tagsDecideTheOrder() throws {
        let last = try file("a.flac", seed: 1, ["track": "3/4", "title": "The end"])
        let first = try file("b.flac", seed: 2, ["track": "1/4", "title": "The harbour"])
        let run = try sluice("join", "book", "out.wav", "--mark-files")
        #expect(run.succeeded, "\(run.errorText)")
        #expect(try samples("out.wav") == PCM.joined([first, last]))
        let notes: [String] = ["book: track 2 is missing", "book: track 4 is missing"]
        for note in notes { #expect(run.errorText.contains("note:  \(note)\n"), "\(run.errorText)") }
        let named = try sluice("join", "book", "names.wav", "--order", "names")
        #expect(named.succeeded && !named.errorText.contains("is missing"), "\(named.errorText)")
        #expect(try samples("names.wav") == PCM.joined([last, first]))

        let strict = try sluice("join", "book", "strict.wav", "--strict")
        #expect(strict.status == .exited(1))
        #expect(strict.errorText.hasPrefix("error: there are 2 doubts; nothing was written\n"), "\(strict.errorText)")
        #expect(!FileManager.default.fileExists(atPath: material.path("strict.wav")))
    }

    @Test func aDryRunShowsChaptersAndDoubts() throws {
        try file("2.flac", seed: 1, ["track": "3", "title": "The end"])
        try file("1.flac", seed: 2, ["track": "1"])
        let words = ["join", "book", "out.m4b", "--mark-files", "--gap", "1", "--dry-run"]
        let run = try Sluice.run(words, in: material.folder).checked()
        let lines = run.outputText.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
        let expected: [String] = [
            "out.m4b 0:01.2 2 files 2 chapters", "# CHAPTER START LENGTH FILE", "1 1 0:00 0:00.1 1.flac",
            "2 The end 0:01.1 0:00.1 2.flac", "doubt: book: track 2 is missing", "nothing was written (--dry-run)",
        ]
        #expect(lines == expected, "\(run.outputText)")
        #expect(!FileManager.default.fileExists(atPath: material.path("out.m4b")))
        #expect(try Sluice.run(words + ["--strict"], in: material.folder).status == .exited(1))
        let line = try Sluice.run(words + ["--json"], in: material.folder).checked().outputText
        let record = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(record["doubts"] as? [String] == ["book: track 2 is missing"])
        let chapters = try #require(record["chapters"] as? [[String: Any]])
        #expect(chapters.map { $0["start"] as? String } == ["0:00", "0:01.1"])
        let files = try #require(record["files"] as? [[String: Any]])
        #expect(files.map { $0["path"] as? String } == ["book/1.flac", "book/2.flac"])
        #expect(files.map { $0["track"] as? Int } == [1, 3])
    }

    /// The remarks of a conversion that printed JSON, by kind.
    private func remarks(_ run: Run) throws -> [String: String] {
        let line = try #require(run.checked().outputText.split(separator: "\n").last)
        let record = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        let conversion = try #require(record["conversion"] as? [String: Any])
        let remarks = conversion["remarks"] as? [[String: Any]] ?? []
        return Dictionary(remarks.map { ($0["kind"] as? String ?? "", $0["detail"] as? String ?? "") }) { $1 }
    }

    /// The sizes and digests of the packets in a file, whatever its edit list plays.
    private func packets(_ name: String) throws -> [Substring] {
        let words = ["-ignore_editlist", "1", "-i", material.path(name), "-map", "0:a:0", "-c", "copy"]
        let text = String(decoding: try FFmpeg.run(words + ["-f", "framehash", "-"]).stdout, as: UTF8.self)
        // Behind the stream, two times and the duration.
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { line in
            line.split(separator: ",", maxSplits: 4).last
        }
    }

    @Test func packetsOfOneKindAreCopied() throws {
        try file("1.m4a", seed: 1, ["title": "Dawn"])
        try file("2.m4a", seed: 2, ["title": "Noon"])
        let words = ["join", "book", "out.m4b", "--mark-files", "--copy-packets"]
        let shown = try Sluice.run(words + ["--dry-run"], in: material.folder).checked().outputText
        #expect(shown.contains("\n  packets: copied, by the headers of the files\n"), "\(shown)")
        let found = try remarks(try Sluice.run(words + ["--verify", "--json"], in: material.folder))
        #expect(found["packets_joined"]?.hasPrefix("the packets of 2 sources were copied") == true, "\(found)")
        #expect(try packets("out.m4b") == packets("book/1.m4a") + packets("book/2.m4a"))
        let book = try FFmpeg.probe(material.path("out.m4b"))
        #expect(book.chapters.map { $0.tags["title"] } == ["Dawn", "Noon"])
        #expect(book.chapters.map(\.start) == [0, 0.1])
        let decoded = try sluice("convert", "out.m4b", "out.wav")
        #expect(decoded.succeeded, "\(decoded.errorText)")
        #expect(try samples("out.wav").frames == 9_600)
    }

    @Test func whatCannotBeCopiedIsEncodedAndNamed() throws {
        try file("1.m4a", seed: 1)
        try file("2.mp3", seed: 2)
        let words = ["join", "book", "out.m4b", "--copy-packets"]
        let shown = try Sluice.run(words + ["--dry-run"], in: material.folder).checked().outputText
        let reason = "2.mp3 is mp3, and only packets of AAC are joined"
        #expect(
            shown.contains("\n  packets: cannot be copied, so the sound is encoded: \(reason)\n"),
            "\(shown)"
        )
        let line = try Sluice.run(words + ["--dry-run", "--json"], in: material.folder).checked().outputText
        let record = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        #expect(record["copiesPackets"] as? Bool == false && record["reasonAgainstCopying"] as? String == reason)
        let found = try remarks(try Sluice.run(words + ["--json"], in: material.folder))
        let told = "the sound was encoded: the packets of file 2 cannot be joined to others: it is not MP4, M4A or M4B"
        #expect(found["packets_encoded"] == told, "\(found)")
        #expect(found["packets_joined"] == nil)

        let strict = try sluice("join", "book", "strict.m4b", "--codec", "copy")
        let refusal = "the packets of file 2 cannot be joined to others"
        #expect(strict.status == .exited(1) && strict.errorText.contains(refusal), "\(strict.errorText)")
        #expect(!FileManager.default.fileExists(atPath: material.path("strict.m4b")))
        let edited = try sluice("join", "book", "gap.m4b", "--copy-packets", "--gap", "1")
        #expect(!edited.succeeded && edited.errorText.contains("silence cannot be copied"), "\(edited.errorText)")
    }

    /// What the command would refuse.
    @Test func aDryRunRefusesWhatCannotBeMade() throws {
        try file("1.flac", seed: 1)
        try Bytes.write([0], to: material.path("there.m4b"))
        try Bytes.write(Array("no picture".utf8), to: material.path("text.jpg"))
        try Bytes.write(Array("0:05 Late\n0:00 First\n".utf8), to: material.path("list.txt"))
        try FileManager.default.createSymbolicLink(
            atPath: material.path("link.wav"),
            withDestinationPath: "book/1.flac"
        )
        for (words, error) in [
            (["there.m4b"], "already exists"), (["none/out.m4b"], "none"),
            (["out.m4b", "--cover", "text.jpg"], "text.jpg"), (["out.m4b", "--cover", "none.jpg"], "none.jpg"),
            (["out.m4b", "--chapters", "list.txt"], "list.txt"),
            (["link.wav", "--on-conflict", "replace"], "source"), (["out.m4b", "--also", "out.m4b"], "out.m4b"),
        ] {
            let refused = try Sluice.run(["join", "book"] + words + ["--dry-run"], in: material.folder)
            #expect(!refused.succeeded && refused.errorText.contains(error), "\(words): \(refused.errorText)")
            // The same as without the dry run.
            let real = try Sluice.run(["join", "book"] + words, in: material.folder)
            #expect(real.status == refused.status, "\(words): \(real.errorText)")
        }
        #expect(!FileManager.default.fileExists(atPath: material.path("out.m4b")))
        let missing = try sluice("join", "book", "nothing.wav", "out.m4b", "--dry-run")
        #expect(!missing.succeeded && missing.errorText.contains("nothing.wav"), "\(missing.errorText)")
    }

    @Test func aListDecidesTheOrder() throws {
        let (one, two) = (try file("1.flac", seed: 1), try file("2.flac", seed: 2))
        try file("3.flac", seed: 3)
        try Bytes.write(Array("#EXTM3U\r\n2.flac\r\n1.flac\r\n".utf8), to: material.path("book/list.m3u"))
        let run = try sluice("join", "book", "out.wav", "--order", "book/list.m3u")
        #expect(run.errorText == "note:  book: 3.flac is not in the list, and is left out\n")
        #expect(try samples("out.wav") == PCM.joined([two, one]))
        try Bytes.write(Array("4.flac\n".utf8), to: material.path("other.txt"))
        let none = try sluice("join", "book", "none.wav", "--order", "other.txt")
        #expect(none.errorText.hasPrefix("error: other.txt names no file of book\n"), "\(none.errorText)")
        // Which list is wrong does not matter yet.
        let both = try sluice("join", "book", "book", "none.wav", "--order", "other.txt")
        #expect(both.status == .exited(2))
        #expect(both.errorText.contains("a list orders one folder"), "\(both.errorText)")
        for (words, error) in [
            (["book", "--order", "tag"], "--order tag: is neither tags, names, nor a list of files"),
            (["talk.wav", "--order", "tags"], "--order orders the files of a folder, and none is given"),
        ] {
            let refused = try Sluice.run(["join", words[0], "none.wav"] + words.dropFirst(), in: material.folder)
            #expect(refused.status == .exited(2) && refused.errorText.contains(error), "\(refused.errorText)")
        }
    }

    private func picture(_ name: String, _ size: String) throws {
        let path = material.path("book/\(name)")
        try FFmpeg.run(["-y", "-f", "lavfi", "-i", "color=red:size=\(size)", "-frames:v", "1", path])
    }

    @Test func whatIsBesideTheFilesBelongsToTheBook() throws {
        try file("1.flac", seed: 1)
        try file("2.flac", seed: 2)
        try picture("front.png", "60x40")
        try picture("Folder.jpg", "30x20")
        try Bytes.write(Array("0 Dawn\n0.05 Noon\n".utf8), to: material.path("book/2.chapters.txt"))
        let run = try sluice("join", "book", "out.m4b", "--mark-files")
        #expect(run.succeeded, "\(run.errorText)")
        let found = try FFmpeg.probe(material.path("out.m4b"))
        #expect(found.chapters.map { $0.tags["title"] } == ["1", "Dawn", "Noon"])
        #expect(found.chapters.map(\.start) == [0, 0.1, 0.15])
        #expect(found.streams.contains { $0.width == 30 && $0.height == 20 })
        let shown = try sluice("join", "book", "dry.m4b", "--mark-files", "--dry-run").checked().outputText
        #expect(shown.contains("3 chapters  cover Folder.jpg\n") && shown.contains("Noon"), "\(shown)")
        // A container without covers gets none, and nothing is lost by that.
        let plain = try sluice("join", "book", "out.caf", "--mark-files", "--strict-loss")
        #expect(plain.succeeded, "\(plain.errorText)")
        // The page shows no more than is written.
        let other = material.path("book/front.png")
        let words = ["join", "book", "dry.m4b", "--mark-files", "--dry-run"]
        let covered = try Sluice.run(words + ["--cover", other], in: material.folder).checked().outputText
        #expect(covered.contains("cover front.png\n"), "\(covered)")
        let untagged = try Sluice.run(words + ["--no-tags"], in: material.folder).checked().outputText
        #expect(!untagged.contains("cover") && !untagged.contains("chapters"), "\(untagged)")
        let bare = try sluice("join", "book", "bare.m4b", "--mark-files", "--no-tags")
        #expect(bare.succeeded, "\(bare.errorText)")
        #expect(try FFmpeg.probe(material.path("bare.m4b")).streams.allSatisfy { $0.width == nil })
    }

    /// A dry run as well.
    @Test func aFolderOfTooManyFilesIsRefused() throws {
        for number in 1...251 { try Bytes.write([0], to: material.path("book/\(number).mp3")) }
        let run = try sluice("join", "book", "out.m4b", "--dry-run")
        #expect(run.status == .exited(1))
        #expect(run.errorText.hasPrefix("error: book has 251 files; up to 250 are joined\n"), "\(run.errorText)")
    }

    /// Names of strangers reach the terminal.
    @Test func controlCharactersInNamesAreNotPrinted() throws {
        let odd = "a\u{1B}[31m\nb"
        try FileManager.default.createDirectory(atPath: material.path(odd), withIntermediateDirectories: true)
        let sound = Signal.noise(seed: 1, rate: 48_000, frames: 4_800, channels: 2).pcm(.s16)
        for name in ["1\u{7}.flac", "3\u{1B}]0;x.flac"] {
            try FFmpeg.encode(sound, to: material.path("\(odd)/\(name)"))
        }
        try Bytes.write([0], to: material.path("\(odd)/cover.jpg"))
        for words in [["--dry-run"], ["--strict"], []] {
            let run = try Sluice.run(["join", odd, "out.m4b", "--mark-files"] + words, in: material.folder)
            let text = run.outputText + run.errorText
            #expect(!text.contains("\u{1B}") && !text.contains("\u{7}") && text.contains("cover.jpg"), "\(text)")
        }
    }

    @Test func aCoverInTheFirstFileWins() throws {
        try picture("front.png", "60x40")
        try picture("own.png", "20x10")
        let sources = ["-i", material.path("talk.wav"), "-i", material.path("book/own.png")]
        let kinds = ["-map", "0:a", "-map", "1:v", "-c:v", "png", "-disposition:v", "attached_pic"]
        try FFmpeg.run(["-y"] + sources + kinds + [material.path("book/1.flac")])
        try file("2.flac", seed: 2)
        #expect(try sluice("join", "book", "out.flac", "--mark-files").succeeded)
        let streams = try FFmpeg.probe(material.path("out.flac")).streams
        #expect(streams.contains { $0.width == 20 } && !streams.contains { $0.width == 60 })
    }
}
