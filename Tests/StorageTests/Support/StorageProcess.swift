import Foundation
import TestSupport

/// Publishes one output in a separate process: the program `storage-process`, which is built beside the tests.
struct StorageProcess {
    var destination: String
    var policy = "fail"
    var mode = "unnamed"
    var byteCount = 100_000
    var byte: UInt8 = 0x6E  // "n" for new

    private var command: [String] {
        [BuiltProgram.path("storage-process"), destination, policy, mode, String(byteCount), String(byte)]
    }

    /// Runs the program, with `wrapper` (such as `strace` or `sh`) as a command prefix.
    func run(behind wrapper: [String] = [], in folder: String? = nil) throws -> Run {
        let all = wrapper + command
        return try Run.program(all[0], Array(all.dropFirst()), folder: folder, limit: .seconds(600))
    }

    /// What it printed: the outcome, or code and stage of the error.
    func outcome(behind wrapper: [String] = [], in folder: String? = nil) throws -> String {
        try run(behind: wrapper, in: folder).outputText.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
