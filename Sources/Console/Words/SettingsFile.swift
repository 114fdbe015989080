import Conversion

/// Settings from a file of lines like `slots = 8`: each key is the name of an option, and its value is what the option
/// takes.
///
/// The grammar: one setting per line. An option that may be repeated has a line for each value. A line that begins
/// with `#`, and the rest of a line after a space and `#`, is a comment. A value in double quotes may hold anything,
/// with `\"` and `\\` for a quote and a backslash.
package struct SettingsFile: Sendable {
    package let path: String
    private var entries: [String: [Entry]] = [:]

    /// One line of the file.
    package struct Entry: Sendable {
        package let text: String
        package let line: Int
        fileprivate let value: any Sendable
    }

    /// Parses `text`. Throws if a key is not the name of one of `forms`, or its option rejects a value.
    package init(path: String, text: String, forms: [OptionForm]) throws(UsageError) {
        self.path = path
        // A line may end with a carriage return, which Swift joins with the line feed to one character.
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            try take(line, index + 1, forms)
        }
    }

    /// The lines with this key, in their order; empty if there are none.
    package func entries(of form: OptionForm) -> [Entry] { entries[form.name] ?? [] }

    private mutating func take(_ line: Substring, _ number: Int, _ forms: [OptionForm]) throws(UsageError) {
        let line = line.trimmed
        guard !line.isEmpty, line.first != "#" else { return }
        let place = "\(path):\(number)"
        guard let sign = line.firstIndex(of: "=") else {
            throw Self.refusal("\(place): expected KEY = VALUE", hint: "as in: slots = 8")
        }
        let key = String(line[..<sign].trimmed)
        guard let form = forms.first(where: { $0.name == key }) else {
            let near = EditDistance.nearest(to: key, among: forms.map(\.name))
            throw Self.refusal(
                "\(place): unknown key \"\(key)\"" + (near.map { "; did you mean \"\($0)\"?" } ?? ""),
                hint: near == nil ? "known keys: \(forms.map(\.name).sorted().joined(separator: ", "))" : nil
            )
        }
        let text: String
        let value: any Sendable
        do throws(Misfit) {
            text = try Self.value(line[line.index(after: sign)...].trimmed)
            value = try form.read(text)
        } catch {
            throw Self.refusal("\(place): \(key): \(error.why)", hint: error.hint ?? form.summary)
        }
        if let first = entries[key]?.first, !form.isRepeatable {
            throw Self.refusal("\(place): \(key) is set twice", hint: "the first one is on line \(first.line)")
        }
        entries[key, default: []].append(Entry(text: text, line: number, value: value))
    }

    /// The value that the text after the sign stands for.
    private static func value(_ text: Substring) throws(Misfit) -> String {
        guard text.first == "\"" else {
            var end = text.startIndex
            var isAfterSpace = true
            while end < text.endIndex, !(isAfterSpace && text[end] == "#") {
                isAfterSpace = text[end] == " " || text[end] == "\t"
                end = text.index(after: end)
            }
            let value = String(text[..<end].trimmed)
            guard !value.isEmpty else { throw Misfit(why: "the value is missing") }
            return value
        }
        var value = ""
        var rest = text.dropFirst()
        while let letter = rest.popFirst() {
            if letter == "\"" {
                let tail = rest.trimmed
                guard tail.isEmpty || tail.first == "#" else { break }
                return value
            }
            guard letter == "\\" else {
                value.append(letter)
                continue
            }
            guard let meant = rest.popFirst(), meant == "\"" || meant == "\\" else { break }
            value.append(meant)
        }
        throw Misfit(
            why: "the quotes do not fit",
            hint: "inside double quotes, write \\\" for a quote and \\\\ for a backslash"
        )
    }

    private static func refusal(_ message: String, hint: String?) -> UsageError {
        UsageError(message, hint: hint, exitCode: .configuration)
    }

    fileprivate var settings: [String: Invocation.Setting] {
        entries.compactMapValues { entries in
            entries.last.map { last in
                Invocation.Setting(values: entries.map(\.value), origin: .file(path: path, line: last.line))
            }
        }
    }
}

extension Invocation {
    /// The same with the settings of `file`, `besides` some, for options that neither the command line nor the
    /// environment sets.
    package func filled(from file: SettingsFile, besides left: [OptionForm] = []) -> Invocation {
        adding(file.settings.filter { setting in !left.contains { $0.name == setting.key } })
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
