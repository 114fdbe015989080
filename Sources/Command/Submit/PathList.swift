import Console
import Storage

/// A list of paths from a file or a pipe.
enum PathList {
    /// In bytes. The kernel takes 4 KiB and a bucket 1 KiB, so a longer one is a list with other ends of paths.
    private static let longest = 64 << 10

    /// Calls `visit` with each path, while the list is read: memory holds a block of it and the longest path. The paths are
    /// separated by line feeds or NULs. `path` is `nil` if it is not UTF-8; `shown` has replacement characters. Throws a
    /// `Refusal` for a list that cannot be read, or whose paths do not end.
    static func read(
        _ file: String,
        byNull: Bool,
        _ visit: (_ path: String?, _ shown: () -> String) throws -> Void
    ) throws {
        var division = Division(byNull: byNull)
        try SourceFile.forEachBlock(word: file) { block in
            try division.take(block, visit)
            guard division.begunCount <= longest else {
                throw Refusal(
                    message: "the list \(file) has a path of more than 64 KiB, and no file has such a path",
                    hint: byNull ? "without -0, paths end with line feeds" : "with -0, paths end with NUL",
                    exitCode: .usage
                )
            }
        }
        try division.end(visit)
    }

    static func forEach(
        in bytes: [UInt8],
        byNull: Bool,
        _ visit: (_ path: String?, _ shown: () -> String) throws -> Void
    ) rethrows {
        var division = Division(byNull: byNull)
        try division.take(bytes[...], visit)
        try division.end(visit)
    }

    /// Divides a list that arrives in blocks.
    struct Division {
        private let byNull: Bool
        private let mark: UInt8
        /// The beginning of a path of which more is to come.
        private var begun: [UInt8] = []

        /// The length of the path that has not ended.
        var begunCount: Int { begun.count }

        init(byNull: Bool) { (self.byNull, mark) = (byNull, byNull ? 0 : UInt8(ascii: "\n")) }

        mutating func take(
            _ block: ArraySlice<UInt8>,
            _ visit: (_ path: String?, _ shown: () -> String) throws -> Void
        ) rethrows {
            var rest = block
            while let end = rest.firstIndex(of: mark) {
                let part = rest[..<end]
                rest = rest[(end + 1)...]
                if begun.isEmpty {
                    try tell(part, visit)
                } else {
                    begun += part
                    try self.end(visit)
                }
            }
            begun += rest
        }

        /// The list, or a path of it, has ended.
        mutating func end(_ visit: (_ path: String?, _ shown: () -> String) throws -> Void) rethrows {
            let path = begun
            begun.removeAll()
            try tell(path[...], visit)
        }

        private func tell(
            _ bytes: ArraySlice<UInt8>,
            _ visit: (_ path: String?, _ shown: () -> String) throws -> Void
        ) rethrows {
            var part = bytes
            // Lists from Windows end lines with CR LF. No name that can be submitted ends with CR.
            if !byNull, part.last == UInt8(ascii: "\r") { part = part.dropLast() }
            if part.isEmpty { return }
            try visit(String(validating: part, as: UTF8.self), { String(decoding: part, as: UTF8.self) })
        }
    }
}
