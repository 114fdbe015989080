import Foundation

/// The source of this package, in the folder from which the tests were compiled.
struct SourceTree {
    /// The package root.
    let root: URL

    /// Finds the root, which contains `Package.swift`, three levels above this file.
    init() throws {
        root = URL(filePath: #filePath, directoryHint: .notDirectory)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let manifest = root.appending(path: "Package.swift", directoryHint: .notDirectory)
        guard FileManager.default.fileExists(atPath: manifest.path) else {
            throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: manifest.path])
        }
    }

    /// Whether `path`, relative to the root, is there.
    func hasFile(_ path: String) -> Bool { FileManager.default.fileExists(atPath: root.appending(path: path).path) }

    /// The names of the entries directly in `folder`, except hidden ones.
    func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
            .filter { !$0.hasPrefix(".") }.sorted()
    }

    /// The paths, relative to the root, and the texts of the Swift files below `folder`.
    func swiftFiles(in folder: String) throws -> [(path: String, text: String)] {
        try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
            .filter { $0.hasSuffix(".swift") }.sorted()
            .map { name in
                let file = root.appending(path: folder).appending(path: name, directoryHint: .notDirectory)
                return ("\(folder)/\(name)", try String(contentsOf: file, encoding: .utf8))
            }
    }
}
