import Foundation

/// The built command, run as from a user's shell.
public enum Sluice {
    public static let path = BuiltProgram.path("sluice")

    /// The environment of a fresh login, plus `more`.
    ///
    /// Nothing of the user who runs the tests gets in, not even their private cluster. A test that needs a cluster
    /// sets its place.
    public static func environment(_ more: [String: String] = [:]) -> [String: String] {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        let login = ["PATH": path, "HOME": "/", "LANG": "C.UTF-8", "TERM": "xterm", "XDG_DATA_HOME": "/dev/null/none"]
        return login.merging(more) { $1 }
    }

    /// Runs `sluice` to its end.
    public static func run(
        _ words: [String],
        in folder: TemporaryFolder? = nil,
        input: Run.Input = .nothing,
        environment more: [String: String] = [:]
    ) throws -> Run {
        try Run.program(
            path,
            words,
            input: input,
            environment: environment(more),
            folder: folder?.path,
            limit: .seconds(600),
            keepsLoaded: true
        )
    }

    public static func run(_ words: String..., in folder: TemporaryFolder) throws -> Run { try run(words, in: folder) }

    /// Runs one line of shell, in which `$SLUICE` is the command.
    public static func shell(
        _ line: String,
        in folder: TemporaryFolder,
        environment more: [String: String] = [:]
    ) throws -> Run {
        try Run.program(
            "bash",
            ["-c", line],
            environment: environment(["SLUICE": path].merging(more) { $1 }),
            folder: folder.path,
            limit: .seconds(600)
        )
    }

    /// A command prefix that drops root's capability to bypass file permissions; empty for other users.
    public static let withoutPrivilege = geteuid() == 0 ? ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] : []
}
