import FoundationEssentials
import Glibc

// embed-migrations FOLDER OUTPUT: writes the migrations of FOLDER as Swift source.

let arguments = CommandLine.arguments
guard arguments.count == 3 else { fatalError("usage: embed-migrations FOLDER OUTPUT") }
let folder = arguments[1]

/// Fails the build with a message that names the file.
func refuse(_ name: String, _ reason: String) -> Never {
    print("\(folder)/\(name): error: \(reason)")
    exit(1)
}

let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".sql") }.sorted()
var source = """
    // Generated from `migrations` by the build. Do not edit.

    extension Migration {
        /// The migrations that this binary knows, in order.
        static let embedded: [Migration] = [

    """
for (index, name) in names.enumerated() {
    let stem = name.dropLast(4)
    guard stem.count > 5, let version = Int(stem.prefix(4)), stem.dropFirst(4).first == "_",
        stem.allSatisfy({ $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "_") })
    else { refuse(name, "the name of a migration must be NNNN_name.sql in lower-case letters, digits and underscores") }
    guard version == index + 1 else {
        refuse(name, "the previous migration is number \(index); numbers must be consecutive")
    }
    guard let text = String(data: try Data(contentsOf: URL(filePath: "\(folder)/\(name)")), encoding: .utf8) else {
        refuse(name, "this is not UTF-8")
    }
    // A checkout with other line endings is the same migration.
    let sql = text.replacing("\r\n", with: "\n")
    if let scalar = sql.unicodeScalars.first(where: { $0.value < 32 && $0 != "\n" && $0 != "\t" }) {
        refuse(name, "it holds the control character \(scalar.value)")
    }
    // The ledger would take a line that is spelled wrongly for a comment, and end all workers at this migration.
    var isStated = false
    for (place, line) in sql.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    where line.lowercased().contains("compatible from:") {
        let mark = "-- Compatible from: "
        guard !isStated, line.hasPrefix(mark), let stated = Int(line.dropFirst(mark.count)),
            (1...version).contains(stated)
        else { refuse("\(name):\(place + 1)", "write once \"\(mark)N\", with N from 1 to \(version)") }
        isStated = true
    }
    // The delimiter has one more # than any run of them after a quotation mark or backslash in the text.
    var fence = "#"
    while sql.contains("\"\(fence)") || sql.contains("\\\(fence)") { fence += "#" }
    source += """
                Migration(
                    version: \(version),
                    name: "\(stem.dropFirst(5))",
                    sql: \(fence)\"""
        \(sql)
        \"""\(fence)
                ),

        """
}
source += """
        ]
    }

    """
try Data(source.utf8).write(to: URL(filePath: arguments[2]))
