/// A path with parameters in braces: `/api/v1/jobs/{job}`.
package struct PathPattern: Sendable {
    private let parts: [Substring]
    /// Whether the last parameter takes all that is left of the path, with its slashes.
    private let takesRest: Bool

    package init(_ text: String, takesRest: Bool = false) {
        parts = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        self.takesRest = takesRest
    }

    /// The names of the parameters.
    package var names: [String] { parts.filter { $0.first == "{" }.map { String($0.dropFirst().dropLast()) } }

    /// The parameters of a path by name; `nil` if the path does not match.
    package func values(in path: [String]) -> [String: String]? {
        guard parts.count == path.count || takesRest && path.count > parts.count else { return nil }
        // Every part was decoded, so a slash that was escaped is now one like the others.
        let rest = path.dropFirst(parts.count - 1).joined(separator: "/")
        let path = Array(path.prefix(parts.count - 1)) + [rest]
        var values: [String: String] = [:]
        for (part, given) in zip(parts, path) {
            if part.first == "{" {
                values[String(part.dropFirst().dropLast())] = given
            } else if part != given[...] {
                return nil
            }
        }
        return values
    }
}
