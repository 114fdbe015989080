import Foundation

/// The programs that the tests run.
public enum BuiltProgram {
    /// Where `name` is: in the folder that SLUICE_TEST_PROGRAMS names, which is how tests are run against a release build, or beside
    /// the running test bundle. The bare name where it is not, which then fails to start.
    public static func path(_ name: String) -> String {
        if let folder = ProcessInfo.processInfo.environment["SLUICE_TEST_PROGRAMS"] { return "\(folder)/\(name)" }
        // The runner may live with the toolchain; then the bundle is among its words.
        let bundle = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        return ([bundle] + CommandLine.arguments)
            .map { URL(fileURLWithPath: $0).deletingLastPathComponent().appendingPathComponent(name).path }
            .first(where: FileManager.default.isExecutableFile) ?? name
    }
}
