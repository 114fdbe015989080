import Glibc

/// Resolves the symbolic links of a path. Unlike with `realpath`, parts of the path may be missing.
enum RealPath {
    /// The kernel's own limit.
    private static let mostLinks = 40

    static func of(_ path: String) -> String {
        var parts = Array(path.pathNames.reversed())
        var resolved: [String] = []
        var links = 0
        while let part = parts.popLast() {
            switch part {
            case ".": continue
            case "..": _ = resolved.popLast()
            default:
                resolved.append(part)
                guard links < mostLinks, let target = target(of: "/" + resolved.joined(separator: "/")) else {
                    continue
                }
                links += 1
                if target.utf8.first == UInt8(ascii: "/") { resolved = [] } else { resolved.removeLast() }
                parts += target.pathNames.reversed()
            }
        }
        return "/" + resolved.joined(separator: "/")
    }

    /// `nil` if there is no link at `path`.
    private static func target(of path: String) -> String? {
        var letters = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &letters, letters.count)
        return count > 0 ? String(decoding: letters.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }
}
