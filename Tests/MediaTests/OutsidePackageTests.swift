import Foundation
import TestSupport
import Testing

/// A package outside of this one, `Tests/Outside`, records sound with the interface for tasks, and has the code of
/// docs/library.md.
@Suite(.timeLimit(.minutes(30))) struct OutsidePackageTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private static let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    private static let package = tests.appending(path: "Outside").path

    /// The page shows whole files of the package, so what it shows is compiled and run below.
    @Test func theLibraryPageShowsTheFilesOfThatPackage() throws {
        let page = try String(contentsOf: Self.tests.appending(path: "../docs/library.md"), encoding: .utf8)
        let blocks = page.components(separatedBy: "```swift\n").dropFirst().map { part in
            part.components(separatedBy: "```")[0]
        }
        #expect(blocks.count == 3)
        for name in ["Measuring", "Converting"] {
            let file = try String(contentsOfFile: "\(Self.package)/Sources/guide/\(name).swift", encoding: .utf8)
            #expect(blocks.contains(file), "docs/library.md does not show \(name).swift as it is")
        }
        // The manifest on the page names the product as this package does.
        let product = #".product(name: "Media", package: "sluice")"#
        let manifest = try String(contentsOfFile: "\(Self.package)/Package.swift", encoding: .utf8)
        #expect(manifest.contains(product) && blocks.contains { $0.contains(product) })
    }

    @Test func anotherPackageRecordsAToneALiveSourceAndToASlowDiskAndReadsAnHour() throws {
        var environment = ProcessInfo.processInfo.environment
        environment["SLUICE_BUILD"] = URL(filePath: BuiltProgram.path("media-program")).deletingLastPathComponent().path
        // In a new folder, because a build does not notice that the modules of another build have changed. Nor does the cache
        // of manifests notice it, and this manifest lists the objects that it found.
        let build = [
            "build", "--manifest-cache", "none", "--package-path", Self.package, "--scratch-path", folder.path("build"),
        ]
        try Run.program("swift", build, environment: environment).checked()
        let program = folder.path("build/debug/recorder")
        let run = try Run.program(program, [folder.path], limit: .seconds(600)).checked()
        #expect(
            run.outputText == """
                tone: 144000 frames
                slow disk: 144000 frames
                live source: 60 blocks, some lost

                """
        )
        // Each sample is the one that the recorder computed.
        var tone: [UInt8] = []
        for frame in 0..<144_000 {
            let phase: Double = 2 * .pi * 440 * Double(frame) / 48_000
            withUnsafeBytes(of: Int16(16_000 * sin(phase)).littleEndian) { tone += $0 }
        }
        for name in ["tone.flac", "slow.wav"] {
            let heard = try FFmpeg.decode(folder.path(name))
            #expect((heard.channels, heard.rate) == (1, 48_000), "\(name)")
            #expect(heard.bytes == tone, "\(name)")
        }

        // The code of docs/library.md, with an hour of a tone whose peak is an eighth of full scale.
        let hour = "sine=frequency=440:sample_rate=8000:duration=3600"
        try FFmpeg.run(["-f", "lavfi", "-i", hour, folder.path("hour.flac")])
        let words = [folder.path("hour.flac"), folder.path("hour.wav"), "wav"]
        let guide = try Run.program(folder.path("build/debug/guide"), words, limit: .seconds(600)).checked()
        #expect(
            guide.outputText == """
                read: 28800000 frames, peak 0.125
                converted: 28800000 frames

                """
        )
    }
}
