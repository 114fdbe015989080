import Console
import Conversion
import Glibc
import System

/// Selects files of a folder by globs, as in a shell.
///
/// A glob without a slash matches the name; one with a slash matches the path below the folder that the user named.
struct NameFilter: Sendable {
    /// If empty, every file with the extension of an audio format is taken.
    let includes: [String]
    /// Override `includes`. An excluded folder is not entered.
    let excludes: [String]
    /// Whether `*.wav` leaves out `A.WAV`. Recorders and cameras write extensions in capitals.
    var matchesCase = false

    private static let extensions: Set<String> = Set(
        Container.allCases.flatMap(\.fileExtensions) + ["opus"] + ReadableFormats.readOnly.flatMap(\.extensions)
    )

    enum Answer { case taken, left, otherKind }

    func answer(name: String, path: String) -> Answer {
        if excludes.contains(where: { fits($0, name, path) }) { return .left }
        if !includes.isEmpty { return includes.contains { fits($0, name, path) } ? .taken : .left }
        return Self.isAudio(name) ? .taken : .otherKind
    }

    /// Whether a name has the extension of an audio format.
    static func isAudio(_ name: String) -> Bool {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")) else { return false }
        let ending = name[name.index(after: dot)...]
        return extensions.contains(ending.lowercased())
    }

    /// Whether the walk enters a folder.
    func enters(name: String, path: String) -> Bool { !excludes.contains { fits($0, name, path) } }

    private func fits(_ glob: String, _ name: String, _ path: String) -> Bool {
        let folding = matchesCase ? 0 : SystemFlag.anyCase
        return glob.utf8.contains(UInt8(ascii: "/"))
            ? fnmatch(glob.hasPrefix("/") ? String(glob.dropFirst()) : glob, path, FNM_PATHNAME | folding) == 0
            : fnmatch(glob, name, folding) == 0
    }
}
