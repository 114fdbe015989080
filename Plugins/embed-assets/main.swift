import FoundationEssentials
import Glibc

// embed-assets FOLDER OUTPUT: writes the text files of FOLDER as Swift source.

let arguments = CommandLine.arguments
guard arguments.count == 3 else { fatalError("usage: embed-assets FOLDER OUTPUT") }
let folder = arguments[1]

/// Fails the build with a message that names the file.
func refuse(_ name: String, _ reason: String) -> Never {
    print("\(folder)/\(name): error: \(reason)")
    exit(1)
}

/// A text as a literal of Swift.
func literal(_ text: String) -> String {
    // The delimiter has one more # than any run of them after a quotation mark or backslash in the text.
    var fence = "#"
    while text.contains("\"\(fence)") || text.contains("\\\(fence)") { fence += "#" }
    return "\(fence)\"\"\"\n\(text)\n\"\"\"\(fence)"
}

/// The media types of the files that a page may have. All are text.
let types = ["css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"]

var source = """
    // Generated from `Assets/files` by the build. Do not edit.

    extension PageAsset {
        /// The files of the page, by name.
        static let embedded: [PageAsset] = [

    """
for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted() where !name.hasPrefix(".") {
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let type = types[String(parts[1])],
        parts[0].allSatisfy({ $0.isASCII && ($0.isLowercase || $0 == "-") })
    else { refuse(name, "the name must be of lower-case letters and hyphens, and end with .css or .js") }
    guard let text = String(data: try Data(contentsOf: URL(filePath: "\(folder)/\(name)")), encoding: .utf8) else {
        refuse(name, "this is not UTF-8")
    }
    // A checkout with other line endings is the same file.
    let lines = text.replacing("\r\n", with: "\n")
    if let scalar = lines.unicodeScalars.first(where: { $0.value < 32 && $0 != "\n" && $0 != "\t" }) {
        refuse(name, "it holds the control character \(scalar.value)")
    }
    source += """
                PageAsset(
                    name: "\(parts[0])",
                    suffix: "\(parts[1])",
                    type: "\(type)",
                    text: \(literal(lines))
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
