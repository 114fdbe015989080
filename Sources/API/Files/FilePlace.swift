package import Storage

/// Where a file is put, in the words of a request.
package enum FilePlace {
    /// The location of a root and a path, which were decoded once. Nothing is repaired: one place has one spelling.
    package static func location(root: String, path: String) throws(Problem) -> Location {
        let names = path.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false)
        guard names.count <= mostNames else { throw Problem(.badPath, "it has more than \(mostNames) parts") }
        for name in names {
            let name = String(String.UnicodeScalarView(name))
            guard !name.isEmpty else { throw Problem(.badPath, "a part of it is empty") }
            guard name != ".", name != ".." else { throw Problem(.badPath, "\(name) cannot be a part of it") }
            guard name.utf8.count <= Location.longestName else {
                throw Problem(.badPath, "a part of it has more than \(Location.longestName) bytes")
            }
            guard !name.unicodeScalars.contains(where: changesDirection) else {
                throw Problem(.badPath, "a part of it has a control of the writing direction, such as U+202E")
            }
            // Names that unfinished outputs have.
            guard name.utf8.first != UInt8(ascii: ".") || !name.contains(".sluice-") else {
                throw Problem(.badPath, "names such as \(name) are for Sluice itself")
            }
        }
        do throws(StorageError) { return try Location("\(root):\(path)") } catch {
            throw Problem(.badPath, error.detail)
        }
    }

    private static let mostNames = 32

    /// Embeddings, overrides and isolates, with which a name is shown in another order than it is read: `gpj.wav` as
    /// `vaw.jpg`. The marks U+061C, U+200E and U+200F are permitted: ordinary names in Arabic and Hebrew have them beside
    /// digits and brackets, and they turn no letters around.
    private static func changesDirection(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
