import Foundation
import TestSupport

/// A temporary folder that holds everything, the private cluster included, so that the demo touches no real data.
struct DemoPlace {
    let folder: String

    static func create() throws -> DemoPlace {
        // When root runs the demo, PostgreSQL runs under a separate account, which must be able to reach its
        // folder.
        umask(0o022)
        // The command prints this path, so a short one leaves more columns for the rest.
        var template = Array("/tmp/demo-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SupportError("create a folder in /tmp", errno: errno) }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard chmod(path, 0o711) == 0 else { throw SupportError("open \(path)", errno: errno) }
        return DemoPlace(folder: path)
    }

    func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// The environment of the command: no variable that could lead it to a real ledger.
    var environment: [String: String] {
        let ours = ProcessInfo.processInfo.environment
        let kept = ["TERM", "LANG", "LC_ALL", "LC_CTYPE", "NO_COLOR", "FORCE_COLOR", "TZ"]
        var environment = ours.filter { kept.contains($0.key) }
        // The build puts the command beside this program.
        let programs = Bundle.main.executableURL!.deletingLastPathComponent().path
        environment["PATH"] = "\(programs):\(ours["PATH"] ?? "/usr/bin:/bin")"
        environment["XDG_DATA_HOME"] = path("data")
        environment["HOME"] = folder
        // Without a terminal to measure, the command would not wrap prose.
        environment["COLUMNS"] = "80"
        if environment["LC_ALL"] == nil, environment["LANG"] == nil { environment["LANG"] = "C.UTF-8" }
        return environment
    }

    /// Stops the cluster, if one was started, and removes the folder.
    func remove() throws {
        let ending = Result {
            guard FileManager.default.fileExists(atPath: path("data")) else { return }
            // A shell finds `sluice` on the PATH of `environment`, not on that of this process.
            try Run.program("bash", ["-c", "sluice down"], environment: environment, folder: "/").checked()
        }
        // Remove the folder even if the cluster did not stop. That error is thrown first: it may explain why the
        // removal failed.
        let removal = Result { try FileManager.default.removeItem(atPath: folder) }
        try ending.get()
        try removal.get()
    }
}
