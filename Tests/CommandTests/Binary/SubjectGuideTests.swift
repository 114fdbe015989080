import Foundation
import TestSupport
import Testing

/// The commands in the pages about one subject work on files like those that the pages speak of.
@Suite(.serialized)
struct SubjectGuideTests {
    private static let pages = [
        "books.md", "loudness.md", "page.md", "pictures.md", "points.md", "reports.md", "specs.md", "tags.md",
    ]

    private static func page(_ name: String) throws -> GuidePage {
        try GuidePage(String(decoding: try Bytes.read(Documentation.path(name)), as: UTF8.self))
    }

    @Test(arguments: pages)
    func everyCommandWorks(_ name: String) throws {
        let runner = try GuideRunner()
        try Self.addFiles(to: runner.folder)
        if name == "reports.md" { try runner.addCluster() }
        try runner.run(try Self.page(name))
    }

    /// A page with commands must be one that a test runs.
    @Test func noPageIsForgotten() throws {
        let elsewhere = [
            // GuideTests and OperatorGuideTests.
            "getting-started.md", "operations.md", "tenants.md", "troubleshooting.md", "failover.md", "containers.md",
            // DocumentationTests, which compare what the commands print.
            "command.md", "command-reference.md", "editing.md", "recipe.md",
            // Tests/HTTP.
            "api.md", "webhooks.md",
        ]
        let folder = (Documentation.path("x") as NSString).deletingLastPathComponent
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) where name.hasSuffix(".md") {
            let isRun = (Self.pages + elsewhere).contains(name)
            for block in try Self.page(name).blocks where !isRun {
                guard case .byHand(let why) = block.manner else {
                    Issue.record("no test runs these lines of \(name): \(block.lines)")
                    continue
                }
                #expect(!why.isEmpty, "\(name)")
            }
        }
    }

    // MARK: Files

    /// Room tone, ten seconds of sound and room tone again, as audiobooks have them.
    private static let chapter = Signal.noise(seed: 1, rate: 44_100, frames: 30_870, amplitude: 0.0005)
        .followed(by: .tone(440, rate: 44_100, frames: 441_000, amplitude: 0.14))
        .followed(by: .noise(seed: 2, rate: 44_100, frames: 88_200, amplitude: 0.0005))

    private static func addFiles(to folder: TemporaryFolder) throws {
        for name in ["album", "shows", "book", "harbour", "library/Sea", "library/Shore"] {
            try FileManager.default.createDirectory(atPath: folder.path(name), withIntermediateDirectories: true)
        }
        for name in ["in.wav", "book/chapter-01.wav"] {
            try WAVFile.write(chapter.pcm(.s16), to: folder.path(name))
        }
        try FFmpeg.encode(chapter.pcm(.s16), to: folder.path("chapter-01.mp3"), ["-b:a", "192k"])
        let names = [
            "harbour/01.mp3", "harbour/02.mp3", "harbour/04.mp3", "library/Sea/01.mp3", "library/Sea/02.mp3",
            "library/Shore/01.mp3", "album/1.wav", "album/2.wav", "shows/1.wav", "song.flac", "song.mp3",
        ]
        for (seed, name) in names.enumerated() {
            let sound = Signal.noise(seed: UInt64(seed), rate: 44_100, frames: 44_100, channels: 2, amplitude: 0.2)
            let tags = ["-metadata", "title=Song \(seed)", "-metadata", "comment=none"]
            try FFmpeg.encode(sound.pcm(.s16), to: folder.path(name), tags)
        }
        let picture = ["-f", "lavfi", "-i", "color=c=navy:s=64x64", "-frames:v", "1", folder.path("front.jpg")]
        try FFmpeg.run(picture)
    }
}
