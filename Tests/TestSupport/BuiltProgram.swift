import Foundation

/// The programs that the tests run.
public enum BuiltProgram {
    /// What tests do in separate processes; its first argument is the subcommand.
    public static let testProgram = path("test-program")

    /// The path of the program `name`, in the folder that SLUICE_TEST_PROGRAMS names, or beside the running test
    /// bundle.
    ///
    /// The variable lets the tests run against a release build. If the program is in neither place, the result is
    /// the bare name, which then fails to start.
    public static func path(_ name: String) -> String {
        if let folder = ProcessInfo.processInfo.environment["SLUICE_TEST_PROGRAMS"] { return "\(folder)/\(name)" }
        return besideTests(name) ?? name
    }

    /// The path of the release build of the program `name`. If there is none, the result is `release/` and the name,
    /// which then fails to start.
    public static func releasePath(_ name: String) -> String {
        find { $0.deletingLastPathComponent().appendingPathComponent("release/\(name)") } ?? "release/\(name)"
    }

    /// The path of an executable file beside the running test bundle, or `nil` if there is none.
    static func besideTests(_ name: String) -> String? { find { $0.appendingPathComponent(name) } }

    /// The path of the executable file that `place` derives from the folder of the running test bundle, or `nil` if
    /// there is none.
    private static func find(_ place: (URL) -> URL) -> String? {
        // The test runner may be part of the toolchain; in that case the bundle is one of its arguments.
        let bundle = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        return ([bundle] + CommandLine.arguments)
            .map { place(URL(fileURLWithPath: $0).deletingLastPathComponent()).path }
            .first(where: FileManager.default.isExecutableFile)
    }
}
