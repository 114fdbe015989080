import FoundationEssentials
import Glibc

// embed-migrations FOLDER OUTPUT: writes the steps of FOLDER/tables and the files of FOLDER/functions as Swift source.

let arguments = CommandLine.arguments
guard arguments.count == 3 else { fatalError("usage: embed-migrations FOLDER OUTPUT") }
let folder = arguments[1]

/// Fails the build with a message that names the file.
func refuse(_ name: String, _ reason: String) -> Never {
    print("\(folder)/\(name): error: \(reason)")
    exit(1)
}

/// The names of the SQL files in a folder, in order, without the extension.
func names(in part: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(folder)/\(part)").filter { $0.hasSuffix(".sql") }.sorted()
        .map { String($0.dropLast(4)) }
}

/// Whether a name has lower-case letters, digits and underscores only.
func isPlain(_ name: some StringProtocol) -> Bool {
    name.allSatisfy { $0.isASCII && ($0.isLowercase || $0.isNumber || $0 == "_") }
}

/// The text of a file.
func text(of file: String) throws -> String {
    guard let text = String(data: try Data(contentsOf: URL(filePath: "\(folder)/\(file)")), encoding: .utf8) else {
        refuse(file, "this is not UTF-8")
    }
    // A checkout with other line endings is the same file.
    let sql = text.replacing("\r\n", with: "\n")
    if let scalar = sql.unicodeScalars.first(where: { $0.value < 32 && $0 != "\n" && $0 != "\t" }) {
        refuse(file, "it holds the control character \(scalar.value)")
    }
    return sql
}

/// A text as a literal of Swift.
func literal(_ sql: String) -> String {
    // The delimiter has one more # than any run of them after a quotation mark or backslash in the text.
    var fence = "#"
    while sql.contains("\"\(fence)") || sql.contains("\\\(fence)") { fence += "#" }
    return "\(fence)\"\"\"\n\(sql)\n\"\"\"\(fence)"
}

var source = """
    // Generated from `migrations` by the build. Do not edit.

    extension Migration {
        /// The migrations that this binary knows, in order.
        static let embedded: [Migration] = [

    """
for (index, stem) in try names(in: "tables").enumerated() {
    let file = "tables/\(stem).sql"
    guard stem.count > 5, let version = Int(stem.prefix(4)), stem.dropFirst(4).first == "_", isPlain(stem)
    else { refuse(file, "the name of a step must be NNNN_name.sql in lower-case letters, digits and underscores") }
    guard version == index + 1 else {
        refuse(file, "the previous step is number \(index); numbers must be consecutive")
    }
    let sql = try text(of: file)
    // The ledger would take a line that is spelled wrongly for a comment, and end all workers at this migration.
    var isStated = false
    for (place, line) in sql.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    where line.lowercased().contains("compatible from:") {
        let mark = "-- Compatible from: "
        guard !isStated, line.hasPrefix(mark), let stated = Int(line.dropFirst(mark.count)),
            (1...version).contains(stated)
        else { refuse("\(file):\(place + 1)", "write once \"\(mark)N\", with N from 1 to \(version)") }
        isStated = true
    }
    source += """
                Migration(
                    version: \(version),
                    name: "\(stem.dropFirst(5))",
                    sql: \(literal(sql))
                ),

        """
}
source += """
        ]
    }

    extension LedgerFunctions {
        /// The files with the functions of this binary, by name.
        static let embedded: [File] = [

    """
for stem in try names(in: "functions") {
    let file = "functions/\(stem).sql"
    guard isPlain(stem) else { refuse(file, "the name must be in lower-case letters, digits and underscores") }
    let sql = try text(of: file)
    let lines = sql.split(separator: "\n", omittingEmptySubsequences: false)
    // The migrator takes a file apart at these lines.
    let begins = lines.firstIndex { $0.hasPrefix("create or replace ") } ?? lines.endIndex
    if let place = lines[..<begins].firstIndex(where: { !$0.isEmpty && !$0.hasPrefix("--") }) {
        refuse("\(file):\(place + 1)", "the file must begin with comments, and then \"create or replace\"")
    }
    source += """
                File(
                    name: "\(stem)",
                    sql: \(literal(sql))
                ),

        """
}
source += """
        ]
    }

    """
let made = Data(source.utf8)
let output = URL(filePath: arguments[2])
// A build for another configuration links this tool again, which then runs again. A file that stays as it is keeps its time of
// change, so the module is not compiled again.
// `try?`: a file that is not there yet, or cannot be read, is written.
if (try? Data(contentsOf: output)) != made { try made.write(to: output) }
