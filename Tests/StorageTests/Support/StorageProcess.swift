import Foundation
import TestSupport

/// Publishes one output in a separate process: the program `storage-process`, which is built beside the tests.
struct StorageProcess {
    var destination: String
    var policy = "fail"
    var mode = "unnamed"
    var byteCount = 100_000
    var byte: UInt8 = 0x6E  // "n" for new

    var words: [String] { [destination, policy, mode, String(byteCount), String(byte)] }

    /// Runs the program, with `wrapper` (such as `strace` or `sh`) as a command prefix.
    func run(behind wrapper: [String] = [], in folder: String? = nil) throws -> Run {
        let all = wrapper + [Self.path] + words
        return try Run.program(all[0], Array(all.dropFirst()), folder: folder, limit: .seconds(200))
    }

    /// What it printed: the outcome, or code and stage of the error.
    func outcome(behind wrapper: [String] = [], in folder: String? = nil) throws -> String {
        try run(behind: wrapper, in: folder).outputText.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// The program's path beside the running test bundle. If it is not there, the bare name, which then fails to
    /// start.
    static let path: String = {
        // The test runner may be part of the toolchain; in that case the bundle is one of its arguments.
        let bundle = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        return ([bundle] + CommandLine.arguments)
            .map { URL(fileURLWithPath: $0).deletingLastPathComponent().appendingPathComponent("storage-process").path }
            .first(where: FileManager.default.isExecutableFile) ?? "storage-process"
    }()
}
