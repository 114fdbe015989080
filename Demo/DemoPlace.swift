import Foundation
import TestSupport

/// A folder in which everything happens, the private cluster too, so that no real data is touched.
struct DemoPlace {
    let folder: String

    static func create() throws -> DemoPlace {
        // PostgreSQL runs under an account of its own where root starts it, and has to get to its folder.
        umask(0o022)
        // The name is in what the command shows; a short one leaves room for the rest.
        var template = Array("/tmp/demo-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SupportError("create a folder in /tmp", errno: errno) }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard chmod(path, 0o711) == 0 else { throw SupportError("open \(path)", errno: errno) }
        return DemoPlace(folder: path)
    }

    func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// What the command knows of the world: nothing that would lead it to a real ledger.
    var environment: [String: String] {
        let ours = ProcessInfo.processInfo.environment
        let kept = ["TERM", "LANG", "LC_ALL", "LC_CTYPE", "NO_COLOR", "FORCE_COLOR", "TZ"]
        var environment = ours.filter { kept.contains($0.key) }
        // The command lies beside this program.
        let programs = Bundle.main.executableURL!.deletingLastPathComponent().path
        environment["PATH"] = "\(programs):\(ours["PATH"] ?? "/usr/bin:/bin")"
        environment["XDG_DATA_HOME"] = path("data")
        environment["HOME"] = folder
        // Without a terminal prose would fill lines of any length.
        environment["COLUMNS"] = "80"
        if environment["LC_ALL"] == nil, environment["LANG"] == nil { environment["LANG"] = "C.UTF-8" }
        return environment
    }

    /// Ends the cluster, if there is one, and removes all there is.
    func remove() throws {
        let ending = Result {
            guard FileManager.default.fileExists(atPath: path("data")) else { return }
            // By a shell, which looks for it on that PATH and not on ours.
            try Run.program("bash", ["-c", "sluice down"], environment: environment, folder: "/").checked()
        }
        // The folder goes even if the cluster did not end. That is said first: it may be why the folder does not go.
        let removal = Result { try FileManager.default.removeItem(atPath: folder) }
        try ending.get()
        try removal.get()
    }
}
