import Foundation

/// Programs of this package that tests run.
enum BuiltProgram {
    /// The program next to the running test bundle. If it is not there, the bare name, which then fails to start.
    static func path(_ name: String) -> String { find { $0.appendingPathComponent(name) } ?? name }

    /// The release build of the program. `make test` builds it before it runs the tests.
    static func releasePath(_ name: String) -> String {
        find { $0.deletingLastPathComponent().appendingPathComponent("release/\(name)") } ?? "release/\(name)"
    }

    private static func find(_ place: (URL) -> URL) -> String? {
        // The test runner may be part of the toolchain; then the bundle is among its arguments.
        let bundle = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        return ([bundle] + CommandLine.arguments).map {
            place(URL(fileURLWithPath: $0).deletingLastPathComponent()).path
        }
        .first(where: FileManager.default.isExecutableFile)
    }
}
