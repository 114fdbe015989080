import Foundation
import TestSupport

/// Makes books of folders: order by tags, a missing part, chapters and a cover.
struct BookTour {
    let place: DemoPlace
    let page: Page

    /// The parts of a book, of which the third one is missing at first.
    private static let parts = [
        ("Dawn", "The harbour lies still, and the first boat goes out."),
        ("The tide", "At noon the water has come, and with it the gulls."),
        ("Fog", "The light is lost, and the horn is heard all over the bay."),
        ("Night", "All boats are back but one, and its lamp is seen from the pier."),
    ]

    func run() throws -> Bool {
        let shell = Shell(folder: place.folder, environment: place.environment, page: page)
        page.title("A folder of parts, whose tags say their order. What would become of it?")
        try makeBook(shell)
        try shell.type("ls library/harbour")
        try shell.type("sluice join library/harbour harbour.m4b --mark-files --dry-run")

        page.title("A part is missing: --strict says so, and writes nothing")
        try shell.type("sluice join library/harbour harbour.m4b --mark-files --strict", code: 1)
        try shell.type("mv fog.mp3 library/harbour/")

        page.title("One file, with a chapter for each part and the cover beside them")
        try shell.type(
            "sluice join library/harbour harbour.m4b --mark-files",
            "--strict --tag 'title=The harbour'"
        )
        try shell.type("sluice probe harbour.m4b")

        page.title("A library: one job for each folder that holds sound")
        try shell.typeWhole("sluice up")
        try shell.type(
            "sluice submit -r library --join-folders --order tags",
            "--to 'books/{dir}.m4b' --dry-run"
        )
        try shell.type(
            "sluice submit -r library --join-folders --order tags",
            "--to 'books/{dir}.m4b' --wait"
        )
        let isWell = try check(shell)
        try shell.type("sluice down")
        return isWell
    }

    private func makeBook(_ shell: Shell) throws {
        for folder in ["library/harbour", "library/songs/CD 1", "library/songs/CD 2"] {
            try FileManager.default.createDirectory(atPath: place.path(folder), withIntermediateDirectories: true)
        }
        for (index, part) in Self.parts.enumerated() {
            try Interruption.check()
            let (title, words) = part
            try Run.program("espeak-ng", ["-v", "en-gb", "-w", place.path("part.wav"), words]).checked()
            let name = title.lowercased().replacingOccurrences(of: " ", with: "-")
            let file = index == 2 ? "\(name).mp3" : "library/harbour/\(name).mp3"
            let tags = "--tag track=\(index + 1)/4 --tag title='\(title)' --tag album='The harbour' --tag artist=Ada"
            _ = try shell.output(of: "sluice convert part.wav \(file) \(tags)")
        }
        let melody = Signal.melody(rate: 44_100).pcm(.s16)
        for (number, name) in ["CD 1/1 first.wav", "CD 1/2 second.wav", "CD 2/1 third.wav"].enumerated() {
            let start = number * 44_100
            try WAVFile.write(melody.cut(start..<start + 2 * 44_100), to: place.path("library/songs/\(name)"))
        }
        let cover = "sluice waveform library/harbour/dawn.mp3 library/harbour/cover.png --picture-size 600x600"
        _ = try shell.output(of: cover)
    }

    /// Whether both books have their chapters.
    private func check(_ shell: Shell) throws -> Bool {
        struct Line: Decodable {
            struct Description: Decodable {
                struct Chapter: Decodable { let title: String? }
                struct Cover: Decodable { let width: Int }
                let chapters: [Chapter]
                let cover: Cover?
            }
            let description: Description
        }
        func line(_ name: String) throws -> Line {
            let text = try shell.output(of: "sluice probe --json '\(name)'")
            return try JSONDecoder().decode(Line.self, from: Data(text.utf8))
        }
        let (book, songs) = (try line("harbour.m4b").description, try line("books/songs.m4b").description)
        let submitted = try line("books/harbour.m4b").description
        let titles: [String?] = Self.parts.map(\.0)
        let books = [book, submitted]
        let isWell = books.allSatisfy { $0.chapters.map(\.title) == titles && $0.cover?.width == 600 }
        return isWell && songs.chapters.count == 3
    }
}
