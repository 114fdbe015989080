import Conversion
import FoundationEssentials

/// Writes recipes as `Recipe.json()` does, but faster where a recipe differs from an earlier one only in its locations.
struct RecipeText {
    /// What recipes have in common if they differ only in their locations.
    private struct Form {
        let recipe: Recipe
        /// The text around the locations. Outputs come before sources, because the keys are sorted.
        let parts: [String]
        /// The digest of the form without its conflict policies and presets.
        let work: RequestDigest
    }

    /// The most recently used form comes last. A submission has few: one for each conflict policy.
    private var forms: [Form] = []
    private static let formLimit = 4

    /// The same text as `recipe.json()`, byte for byte.
    mutating func json(_ recipe: Recipe) throws -> String { try write(recipe).json }

    /// The recipe as JSON, and the number of its work. Recipes have the same number if they differ at most in their
    /// conflict policies and in the names of the presets that they were made with.
    mutating func write(_ recipe: Recipe) throws -> (json: String, work: Int64) {
        let form = try form(of: recipe)
        let json: String
        if form.parts.count == recipe.outputs.count + recipe.sources.count + 1 {
            var text = form.parts[0]
            var place = 1
            for location in recipe.outputs.lazy.map(\.location) + recipe.sources.lazy.map(\.location) {
                text.appendJSON(location)
                text += form.parts[place]
                place += 1
            }
            json = text
        } else {
            json = try recipe.json()
        }
        return (json, Self.work(recipe, form))
    }

    /// Only the number that `write` returns.
    mutating func work(_ recipe: Recipe) throws -> Int64 { Self.work(recipe, try form(of: recipe)) }

    private static func work(_ recipe: Recipe, _ form: Form) -> Int64 {
        var digest = form.work
        for source in recipe.sources { digest.add(source.location) }
        for output in recipe.outputs { digest.add(output.location) }
        return digest.number
    }

    private mutating func form(of recipe: Recipe) throws -> Form {
        if let last = forms.last, recipe.differsInLocationsOnly(from: last.recipe) { return last }
        if let place = forms.firstIndex(where: { recipe.differsInLocationsOnly(from: $0.recipe) }) {
            forms.append(forms.remove(at: place))
            return forms[forms.count - 1]
        }
        let form = try Self.learn(recipe)
        if forms.count == Self.formLimit { forms.removeFirst() }
        forms.append(form)
        return form
    }

    private static func learn(_ recipe: Recipe) throws -> Form {
        var marked = recipe
        // Random, so that no submitter can have written it.
        let mark = UUID().uuidString
        for index in marked.sources.indices { marked.sources[index].location = mark }
        for index in marked.outputs.indices { marked.outputs[index].location = mark }
        let parts = try marked.json().split(separator: "\"\(mark)\"", omittingEmptySubsequences: false).map(String.init)
        for index in marked.sources.indices { marked.sources[index].location = "" }
        for index in marked.outputs.indices {
            marked.outputs[index].location = ""
            marked.outputs[index].onConflict = .fail
            // The format counts, and not which version of a preset it was copied from.
            marked.outputs[index].ownPreset = nil
        }
        var work = RequestDigest()
        work.add(try marked.json())
        return Form(recipe: recipe, parts: parts, work: work)
    }
}

extension Recipe {
    /// Whether the two recipes differ only in their locations.
    fileprivate func differsInLocationsOnly(from other: Recipe) -> Bool {
        guard sources.count == other.sources.count, outputs.count == other.outputs.count else { return false }
        var like = self
        for index in sources.indices { like.sources[index].location = other.sources[index].location }
        for index in outputs.indices { like.outputs[index].location = other.outputs[index].location }
        return like == other
    }
}

extension String {
    /// Appends a JSON string with the same escapes as `JSONEncoder`.
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

    /// Appends a JSON object with sorted keys.
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
