import Conversion
import FoundationEssentials

/// Writes recipes as `Recipe.json()` does, and faster where one differs from the one before by its locations alone.
struct RecipeText {
    private var last: Recipe?
    /// The text around the locations of `last`: outputs first, then sources, as their names sort.
    private var parts: [String] = []

    /// The recipe as `recipe.json()` gives it, byte for byte.
    mutating func json(_ recipe: Recipe) throws -> String {
        if last.map({ recipe.differsInLocationsOnly(from: $0) }) != true { try learn(recipe) }
        guard parts.count == recipe.outputs.count + recipe.sources.count + 1 else { return try recipe.json() }
        var text = parts[0]
        var place = 1
        for location in recipe.outputs.lazy.map(\.location) + recipe.sources.lazy.map(\.location) {
            text.appendJSON(location)
            text += parts[place]
            place += 1
        }
        return text
    }

    private mutating func learn(_ recipe: Recipe) throws {
        last = recipe
        var marked = recipe
        // Drawn at random, so nobody can have written it.
        let mark = UUID().uuidString
        for index in marked.sources.indices { marked.sources[index].location = mark }
        for index in marked.outputs.indices { marked.outputs[index].location = mark }
        parts = try marked.json().split(separator: "\"\(mark)\"", omittingEmptySubsequences: false).map(String.init)
    }
}

extension Recipe {
    /// Whether nothing but where sources and outputs are tells the two apart.
    fileprivate func differsInLocationsOnly(from other: Recipe) -> Bool {
        version == other.version && damage == other.damage && verify == other.verify
            && strictLoss == other.strictLoss && tags == other.tags
            && limits == other.limits && sources.count == other.sources.count
            && outputs.count == other.outputs.count
            && zip(sources, other.sources).allSatisfy {
                $0.track == $1.track && $0.raw == $1.raw && $0.ranges == $1.ranges
            }
            && zip(outputs, other.outputs).allSatisfy {
                $0.preset == $1.preset && $0.onConflict == $1.onConflict && $0.format == $1.format
            }
    }
}

extension String {
    /// Appends a text as a JSON string, with the escapes that JSONEncoder writes.
    mutating func appendJSON(_ text: String) {
        let needsEscape = text.utf8.contains { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
        guard needsEscape else {
            self += "\""
            self += text
            self += "\""
            return
        }
        self += "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": self += "\\\""
            case "\\": self += "\\\\"
            case "\u{8}": self += "\\b"
            case "\u{C}": self += "\\f"
            case "\n": self += "\\n"
            case "\r": self += "\\r"
            case "\t": self += "\\t"
            case "\u{0}"..<"\u{20}":
                let digits = String(scalar.value, radix: 16)
                self += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: unicodeScalars.append(scalar)
            }
        }
        self += "\""
    }

    /// Appends an object of texts, in the order of its names.
    mutating func appendJSON(_ labels: [String: String]) {
        self += "{"
        for (number, label) in labels.sorted(by: { $0.key < $1.key }).enumerated() {
            if number > 0 { self += "," }
            appendJSON(label.key)
            self += ":"
            appendJSON(label.value)
        }
        self += "}"
    }
}
