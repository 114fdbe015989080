import Foundation
import TestSupport
import Testing

/// A package outside of this one records sound with the interface for tasks: `Tests/Outside`.
@Suite(.timeLimit(.minutes(30))) struct OutsidePackageTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    @Test func anotherPackageRecordsAToneALiveSourceAndToASlowDisk() throws {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Outside").path
        var environment = ProcessInfo.processInfo.environment
        environment["SLUICE_BUILD"] = URL(filePath: BuiltProgram.path("media-program")).deletingLastPathComponent().path
        // In a new folder, because a build does not notice that the modules of another build have changed. Nor does the cache
        // of manifests notice it, and this manifest lists the objects that it found.
        let build = [
            "build", "--manifest-cache", "none", "--package-path", package, "--scratch-path", folder.path("build"),
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
    }
}
