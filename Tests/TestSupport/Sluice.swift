import Foundation

/// The built command, as a person runs it from a shell.
public enum Sluice {
    public static let path = BuiltProgram.path("sluice")

    /// What is set after login, and nothing of the person who runs the tests: not even the private cluster that they may have. Who
    /// needs one says where.
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
            limit: .seconds(200)
        )
    }

    public static func run(_ words: String..., in folder: TemporaryFolder) throws -> Run { try run(words, in: folder) }

    /// Runs a line of shell in which `$SLUICE` is the command.
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
            limit: .seconds(200)
        )
    }

    /// Words before a program that take root's privilege to pass over permissions; none for anybody else.
    public static let withoutPrivilege = geteuid() == 0 ? ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] : []
}
