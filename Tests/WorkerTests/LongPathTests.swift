import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Sources and destinations whose paths, counted from the root, have the kernel's maximum length. With the
/// root's own path they are longer.
struct LongPathTests {
    /// The components of a path: fifteen folders, and then a file name.
    private static func path(_ letter: String, _ ending: String) -> [String] {
        let name = String(repeating: letter, count: 255)
        return Array(repeating: name, count: 15) + [String(name.dropLast(ending.utf8.count)) + ending]
    }

    /// Opens the folder of a path below `root`, component by component because no call accepts the whole
    /// path. Creates missing folders.
    private func folder(of names: [String], below root: String) throws -> Int32 {
        var here = open(root, O_DIRECTORY | O_RDONLY | O_CLOEXEC)
        for name in names.dropLast() {
            if here < 0 { break }
            mkdirat(here, name, 0o755)
            let next = openat(here, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC)
            close(here)
            here = next
        }
        guard here >= 0 else { throw SupportError("open a deep folder", errno: errno) }
        return here
    }

    @Test func pathsOfTheKernelsLengthAreConverted() async throws {
        let lab = try await WorkerLab()
        // Foundation cannot remove a file whose path is too long for one call.
        defer { _ = try? Run.program("rm", ["-rf", lab.path("in"), lab.path("out")]) }
        let (from, to) = (Self.path("s", ".wav"), Self.path("d", ".flac"))
        try lab.addSource("short.wav")
        let source = try folder(of: from, below: lab.path("in"))
        defer { close(source) }
        try #require(linkat(AT_FDCWD, lab.path("in/short.wav"), source, from[15], 0) == 0)
        let paths = [from, to].map { $0.joined(separator: "/") }
        #expect(paths.allSatisfy { $0.utf8.count == 4_095 })

        let recipe = WorkerLab.recipe("in:" + paths[0], to: "out:" + paths[1])
        let job = try await lab.submit([recipe, WorkerLab.recipe("in:short.wav", to: "out:short.flac")])[0]
        let worker = try lab.worker()
        try await lab.wait(for: 2, "completed")
        try await worker.stopsWell()
        let output = try folder(of: to, below: lab.path("out"))
        defer { close(output) }
        var facts = stat()
        #expect(fstatat(output, to[15], &facts, 0) == 0 && facts.st_size > 1_000)
        let story = try #require(try await lab.ledger.story(of: job))
        #expect(story.summary.state == .completed && story.summary.source == "in:" + paths[0])
    }
}
