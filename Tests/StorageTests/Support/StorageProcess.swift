import Foundation
import TestSupport

/// One output published in a process of its own, by the program `storage-process` that is built beside the tests.
struct StorageProcess {
    var destination: String
    var policy = "fail"
    var mode = "unnamed"
    var byteCount = 100_000
    var byte: UInt8 = 0x6E  // "n" for new

    var words: [String] { [destination, policy, mode, String(byteCount), String(byte)] }

    /// Runs it, behind the words of another program (`strace`, `sh`) if there are any.
    func run(behind wrapper: [String] = [], in folder: String? = nil) throws -> Run {
        let all = wrapper + [Self.path] + words
        return try Run.program(all[0], Array(all.dropFirst()), folder: folder, limit: .seconds(200))
    }

    /// What it said: the outcome, or code and stage of the error.
    func outcome(behind wrapper: [String] = [], in folder: String? = nil) throws -> String {
        try run(behind: wrapper, in: folder).outputText.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Beside the running test bundle, wherever that was built; the bare name where it is not, which then fails to start.
    static let path: String = {
        // The runner may live with the toolchain; then the bundle is among its words.
        let bundle = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        return ([bundle] + CommandLine.arguments)
            .map { URL(fileURLWithPath: $0).deletingLastPathComponent().appendingPathComponent("storage-process").path }
            .first(where: FileManager.default.isExecutableFile) ?? "storage-process"
    }()
}
