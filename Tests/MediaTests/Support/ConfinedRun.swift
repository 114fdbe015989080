import Conversion
import Foundation
import TestSupport

@testable import Media

/// Runs a test of this program in a separate process, where limits can apply to the whole process.
enum ConfinedRun {
    /// The error of a conversion that may write only some kilobytes. A test in the child process prints it.
    static func errorOfFullDisk() throws -> MediaError {
        // A write beyond the limit raises SIGXFSZ, which would kill the process. If ignored, it fails with EFBIG.
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

    /// Whether this process runs under a small file size limit.
    static var isConfined: Bool {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(1 /* RLIMIT_FSIZE */), &limit)
        return limit.rlim_cur < 1 << 20
    }

    /// Prints the error to standard output, in the child process.
    static func tell(_ error: MediaError) throws {
        let told = Told(code: error.code, stage: error.stage, detail: error.detail, libavName: error.libavName)
        let json = try JSONEncoder().encode(told)
        print("\n\(marker)\(String(decoding: json, as: UTF8.self))")
    }

    private static let marker = "confined run: "

    private struct Told: Codable {
        let code: FailureCode
        let stage: Failure.Stage
        let detail: String
        let libavName: String?
    }
}
