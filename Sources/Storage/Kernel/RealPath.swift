import Glibc

/// Where a path leads once its symbolic links are followed. Unlike with `realpath`, parts of it may be missing.
enum RealPath {
    /// As many links as the kernel follows.
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
