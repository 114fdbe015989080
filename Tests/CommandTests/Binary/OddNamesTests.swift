import Foundation
import TestSupport
import Testing

/// Unusual file names that people really use, and words that are not names.
struct OddNamesTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder.create()
        let tone = Signal.tone(440, rate: 8_000, frames: 800).pcm(.s16)
        for name in ["in.wav", "-dash.wav", "a b.wav"] { try WAVFile.write(tone, to: folder.path(name)) }
        try FileManager.default.createDirectory(atPath: folder.path("out"), withIntermediateDirectories: true)
    }

    @Test func namesWithSpacesDashesAndDoubledSlashesAreNames() throws {
        for (source, destination) in [
            ("a b.wav", "out/a b.flac"), ("./-dash.wav", "out/-dash.flac"), (".//in.wav", "out//in.flac"),
        ] {
            #expect(try Sluice.run("convert", source, destination, in: folder).succeeded)
        }
        #expect(try Sluice.run("convert", "--", "-dash.wav", "-dash.flac", in: folder).succeeded)
        #expect(try Set(folder.names()).isSuperset(of: ["-dash.flac"]))
    }

    @Test func aFileThatLooksLikeAnOptionIsPointedTo() throws {
        let run = try Sluice.run("convert", "-dash.wav", "out.flac", in: folder)
        #expect(run.status == .exited(2))
        #expect(run.errorText == "error: unknown option -d\nhint:  the file of that name is ./-dash.wav\n")
    }

    /// The words that a shell passes for an unset variable.
    @Test(arguments: [
        ["convert", "", "out.flac"], ["convert", "in.wav", ""], ["probe", ""], ["probe", "in.wav", ""],
        ["submit", "-r", "", "--to", "out/{stem}.flac", "--dry-run"],
    ])
    func anEmptyWordIsNoName(words: [String]) throws {
        let run = try Sluice.run(words, in: folder)
        #expect(run.status == .exited(2))
        #expect(run.errorText.hasPrefix("error: the name of "))
        #expect(run.errorText.hasSuffix(" is empty\nhint:  an unset shell variable gives an empty argument\n"))
    }

    @Test(arguments: ["out.ape", "out.WMA"])
    func anExtensionThatIsOnlyReadIsCalledThat(name: String) throws {
        let run = try Sluice.run("convert", "in.wav", name, in: folder)
        #expect(run.status == .exited(2))
        #expect(run.errorText.hasPrefix("error: \(name): files of this kind can be read, but not written\n"))
    }

    @Test(arguments: ["out", "out/", "./out"])
    func aFolderAsDestinationIsCalledAFolder(name: String) throws {
        let run = try Sluice.run("convert", "in.wav", name, in: folder)
        #expect(run.status == .exited(2))
        let inside = name.hasSuffix("/") ? name : name + "/"
        #expect(
            run.errorText == "error: \(name) is a folder\nhint:  give the name of a file, as in \(inside)talk.flac\n"
        )
    }

    @Test func aListOfWindowsIsRead() throws {
        let list = Data("in.wav\r\na b.wav\r\n\r\n".utf8)
        let words = ["submit", "--files-from", "-", "--to", "out/{stem}.flac", "--dry-run"]
        let run = try Sluice.run(words, in: folder, input: .data(list)).checked()
        #expect(run.outputText.hasPrefix("2 files, "))
    }
}
