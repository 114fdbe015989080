import Foundation

/// This package's own source, read from the folder the tests were compiled from.
struct SourceTree {
    /// The package root.
    let root: URL

    /// Finds the root: the folder with `Package.swift` three steps above this file.
    init() throws {
        root = URL(filePath: #filePath, directoryHint: .notDirectory)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let manifest = root.appending(path: "Package.swift", directoryHint: .notDirectory)
        guard FileManager.default.fileExists(atPath: manifest.path) else {
            throw CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: manifest.path])
        }
    }

    /// The names of the folders and files that stand directly in `folder`.
    func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)
            .filter { !$0.hasPrefix(".") }.sorted()
    }

    /// The Swift files below `folder`: paths relative to the root, and texts.
    func swiftFiles(in folder: String) throws -> [(path: String, text: String)] {
        try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
            .filter { $0.hasSuffix(".swift") }.sorted()
            .map { name in
                let file = root.appending(path: folder).appending(path: name, directoryHint: .notDirectory)
                return ("\(folder)/\(name)", try String(contentsOf: file, encoding: .utf8))
            }
    }
}
