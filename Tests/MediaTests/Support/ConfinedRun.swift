import Conversion
import Foundation
import TestSupport

@testable import Media

/// Runs a test of this very program in a process of its own, where limits can be set that hold for a whole process.
enum ConfinedRun {
    /// What a conversion says when it may not write more than some kilobytes; a test in the child prints it.
    static func errorOfFullDisk() throws -> MediaError {
        // A write beyond the limit raises a signal, which would kill; ignored, the write fails with EFBIG.
        let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" --testing-library swift-testing --filter outputHasRoom"
        let run = try Run.program("sh", ["-c", script, "/proc/\(getpid())/exe"])
        guard let line = run.outputText.split(separator: "\n").first(where: { $0.contains(marker) }),
            let json = line.range(of: marker).map({ line[$0.upperBound...] })
        else { throw SupportError("fill a disk", "the child said nothing: \(run.outputText) \(run.errorText)") }
        let told = try JSONDecoder().decode(Told.self, from: Data(json.utf8))
        var error = MediaError(told.code, at: told.stage, told.detail)
        error.libavName = told.libavName
        return error
    }

    /// Whether this process may write no large files.
    static var isConfined: Bool {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(1 /* RLIMIT_FSIZE */), &limit)
        return limit.rlim_cur < 1 << 20
    }

    /// For the child: says on standard output what went wrong.
    static func tell(_ error: MediaError) throws {
        let told = Told(code: error.code, stage: error.stage, detail: error.detail, libavName: error.libavName)
        let json = try JSONEncoder().encode(told)
        print("\n\(marker)\(String(decoding: json, as: UTF8.self))")
    }

    private static let marker = "confined run: "

    private struct Told: Codable {
        let code: MediaError.Code
        let stage: MediaError.Stage
        let detail: String
        let libavName: String?
    }
}
