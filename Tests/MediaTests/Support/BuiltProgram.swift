import Foundation

/// Programs of this package that tests run.
enum BuiltProgram {
    /// Beside the running test bundle, wherever that was built; the bare name where it is not, which then fails to start.
    static func path(_ name: String) -> String { find { $0.appendingPathComponent(name) } ?? name }

    /// The same built for release, which `make test` does before it runs the tests.
    static func releasePath(_ name: String) -> String {
        find { $0.deletingLastPathComponent().appendingPathComponent("release/\(name)") } ?? "release/\(name)"
    }

    private static func find(_ place: (URL) -> URL) -> String? {
        // The runner may live with the toolchain; then the bundle is among its words.
        let bundle = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        return ([bundle] + CommandLine.arguments).map {
            place(URL(fileURLWithPath: $0).deletingLastPathComponent()).path
        }
        .first(where: FileManager.default.isExecutableFile)
    }
}
