import HTTPServer
import Ledger

/// The lists of docs/api-reference.md, from the declarations.
package enum APIPage {
    /// Every request, with the roles that may make it.
    package static func requests() throws -> String {
        var lines = ["| request | roles | what |", "| --- | --- | --- |"]
        for operation in try APIServer.operations(version: "") {
            let roles = operation.access.roles
            let who =
                roles.isEmpty
                ? "no token needed" : roles.count == 3 ? "all" : roles.map(\.rawValue).joined(separator: ", ")
            let tenants = operation.isForTenants ? "" : "; no tenants"
            lines.append(
                "| `\(operation.method.rawValue) \(operation.path)` | \(who)\(tenants) | \(operation.summary) |"
            )
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Every code of a problem.
    package static func codes() -> String {
        var lines = ["| code | status | meaning | what to do |", "| --- | --- | --- | --- |"]
        for code in Problem.Code.allCases {
            let hint = code.hint?.replacing("\"", with: "`") ?? ""
            lines.append("| `\(code.rawValue)` | \(code.status.rawValue) | \(code.title) | \(hint) |")
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
