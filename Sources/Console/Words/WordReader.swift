import Conversion
import Glibc

/// Parses a command line according to the commands' values.
package struct WordReader {
    let root: Subcommand
    let environment: [String: String]

    package init(root: Subcommand, environment: [String: String]) {
        (self.root, self.environment) = (root, environment)
    }

    /// What the command line asks for.
    package enum Request {
        case run(Subcommand, Invocation)
        case help(path: [Subcommand])
        case version
    }

    /// `words` does not include the program's name.
    package func read(_ words: [String]) throws(UsageError) -> Request {
        var reading = Reading(path: [root])
        var rest = words[...]
        var onlyArguments = false
        while let word = rest.popFirst() {
            if onlyArguments || word == "-" || !word.hasPrefix("-") || isNumber(word, in: reading) {
                try take(word, into: &reading)
            } else if word == "--" {
                onlyArguments = true
            } else if word == "--help" || word == "-h" {
                return .help(path: reading.path)
            } else if word == "--version", reading.path.count == 1 {
                return .version
            } else if word.hasPrefix("--") {
                try takeOption(word, &rest, into: &reading)
            } else {
                try takeLetters(word, &rest, into: &reading)
            }
        }
        let command = reading.command
        guard command.children.isEmpty || command.standsAlone else { return .help(path: reading.path) }
        try requireArguments(reading)
        let values = try settled(reading)
        let arguments = Dictionary(uniqueKeysWithValues: assign(reading.arguments, to: command.arguments))
        let path = reading.path.dropFirst().map(\.name)
        return .run(
            command,
            Invocation(
                path: Array(path),
                environment: environment,
                typed: words,
                arguments: arguments,
                values: values
            )
        )
    }

    /// The words parsed so far.
    private struct Reading {
        var path: [Subcommand]
        var arguments: [String] = []
        var values: [String: Invocation.Setting] = [:]

        var command: Subcommand { path[path.count - 1] }
        var options: [OptionForm] { path.allOptions }
        var title: String { path.map(\.name).joined(separator: " ") }
    }

    // MARK: Arguments

    private func take(_ word: String, into reading: inout Reading) throws(UsageError) {
        let command = reading.command
        guard command.children.isEmpty else {
            guard let child = command.children.first(where: { $0.name == word }) else {
                throw unknownCommand(word, in: reading)
            }
            reading.path.append(child)
            if let option = child.leavesOut.first(where: { reading.values[$0.name] != nil }) {
                throw leftOut(option, in: reading)
            }
            return
        }
        let takesMore = command.arguments.contains(where: \.takesMany)
        guard takesMore || reading.arguments.count < command.arguments.count else {
            throw UsageError("unexpected argument \"\(word)\"", hint: usage(reading))
        }
        reading.arguments.append(word)
    }

    /// Whether a word is a negative number rather than a group of letters that this command knows.
    private func isNumber(_ word: String, in reading: Reading) -> Bool {
        let digits = word.dropFirst()
        return !digits.isEmpty && digits.allSatisfy { $0.isASCII && $0.isNumber }
            && !reading.options.contains { $0.letter == digits.first }
    }

    private func unknownCommand(_ word: String, in reading: Reading) -> UsageError {
        let names = reading.command.children.filter { !$0.isHidden }.map(\.name)
        let habit = root.habits?.command(word.lowercased())
        let isKnown = reading.path.count == 1 && habit.map { $0.hasPrefix("-") || names.contains($0) } == true
        let near =
            (isKnown ? habit : nil).map { [$0] } ?? EditDistance.suggestions(for: word.lowercased(), among: names)
        let path = reading.path.dropFirst().map { "\($0.name) " }.joined()
        let meant = near.map { $0.hasPrefix("-") ? "\"sluice \($0)\"" : "\"\(path)\($0)\"" }
        return UsageError(
            "unknown command \"\(path)\(word)\"" + meant.question,
            hint: near.isEmpty ? "\"\(reading.title) --help\" lists the commands" : nil
        )
    }

    private func requireArguments(_ reading: Reading) throws(UsageError) {
        let required = reading.command.arguments.filter(\.isRequired)
        guard reading.arguments.count >= required.count else {
            throw UsageError("\(required[reading.arguments.count].name) is missing", hint: usage(reading))
        }
        // An empty word usually comes from an unset shell variable. As a folder, it would mean the current one.
        guard !reading.command.isHidden,
            let empty = assign(reading.arguments, to: reading.command.arguments).first(where: { $0.1.contains("") })
        else { return }
        throw UsageError("the name of \(empty.0) is empty", hint: "an unset shell variable gives an empty argument")
    }

    /// One argument may take many words; the required arguments after it get the last ones.
    private func assign(_ words: [String], to arguments: [Argument]) -> [(String, [String])] {
        var rest = words[...]
        return arguments.enumerated().map { index, argument in
            let behind = arguments[(index + 1)...].filter(\.isRequired).count
            let count = argument.takesMany ? max(0, rest.count - behind) : min(1, rest.count)
            defer { rest = rest.dropFirst(count) }
            return (argument.name, Array(rest.prefix(count)))
        }
    }

    private func usage(_ reading: Reading) -> String {
        let words = reading.command.arguments.map(\.usage)
        return "usage: " + ([reading.title] + words).joined(separator: " ")
    }

    // MARK: Options

    private func takeOption(
        _ word: String,
        _ rest: inout ArraySlice<String>,
        into reading: inout Reading
    ) throws(UsageError) {
        let sign = word.firstIndex(of: "=")
        let name = String(word[..<(sign ?? word.endIndex)].dropFirst(2))
        guard let option = reading.options.first(where: { $0.name == name }) else {
            throw unknownOption("--\(name)", in: reading)
        }
        let attached = sign.map { String(word[word.index(after: $0)...]) }
        if option.isSwitch, attached != nil {
            throw UsageError("\(option.word) takes no value")
        }
        try take(option, attached, &rest, into: &reading)
    }

    /// `-q`, `-qr`, `-ofile`
    private func takeLetters(
        _ word: String,
        _ rest: inout ArraySlice<String>,
        into reading: inout Reading
    ) throws(UsageError) {
        var letters = word.dropFirst()
        while let letter = letters.popFirst() {
            guard let option = reading.options.first(where: { $0.letter == letter }) else {
                throw unknownOption("-\(letter)", in: reading, word)
            }
            let attached = option.isSwitch || letters.isEmpty ? nil : String(letters)
            if attached != nil { letters = "" }
            try take(option, attached, &rest, into: &reading)
        }
    }

    private func take(
        _ option: OptionForm,
        _ attached: String?,
        _ rest: inout ArraySlice<String>,
        into reading: inout Reading
    ) throws(UsageError) {
        var text = attached ?? ""
        if !option.isSwitch, attached == nil {
            // The next word is the value whatever it looks like. But if it is an option, the user forgot the value.
            guard let next = rest.first, next != "--help", !reading.options.contains(where: { $0.word == next })
            else {
                throw UsageError("\(option.usage): the value is missing", hint: option.summary)
            }
            text = next
            rest = rest.dropFirst()
        }
        let value: any Sendable
        do throws(Misfit) {
            value = try option.read(text)
        } catch {
            throw UsageError("\(option.word) \(text.quotedIfNeeded): \(error.why)", hint: error.hint)
        }
        if let old = reading.values[option.name], !option.isRepeatable, !option.isSwitch {
            throw UsageError("\(option.word) is given twice", hint: "the first value is \(old.values[0])")
        }
        reading.values[option.name, default: .init(values: [], origin: .commandLine)].values.append(value)
    }

    /// An option of a command above that means nothing to this one.
    private func leftOut(_ option: OptionForm, in reading: Reading) -> UsageError {
        let above = reading.path.dropLast().map(\.name).joined(separator: " ")
        return UsageError(
            "\(option.word) cannot be used with \"\(reading.title)\"",
            hint: reading.command.leavesOutHint ?? "it is an option of \"\(above)\""
        )
    }

    /// `given` is the whole word that contains the option.
    private func unknownOption(_ word: String, in reading: Reading, _ given: String? = nil) -> UsageError {
        let leftOut = reading.path.flatMap(\.leavesOut)
        if let option = leftOut.first(where: { $0.word == word || $0.letter.map { "-\($0)" } == word }) {
            return self.leftOut(option, in: reading)
        }
        if let given, isFile(given) {
            return UsageError("unknown option \(word)", hint: "the file of that name is ./\(given)")
        }
        if let hint = root.habits?.option(given ?? word, reading.command, reading.options) {
            return UsageError("unknown option \(given ?? word)", hint: hint)
        }
        let near = EditDistance.nearest(to: word, among: reading.options.map(\.word) + ["--help"])
        return UsageError(
            "unknown option \(word)" + (near.map { "; did you mean \($0)?" } ?? ""),
            hint: near == nil ? "\"\(reading.title) --help\" lists the options" : nil
        )
    }

    private func isFile(_ path: String) -> Bool {
        var facts = stat()
        return lstat(path, &facts) == 0
    }

    /// Adds values from the environment, and then defaults, for options that the command line does not set.
    private func settled(_ reading: Reading) throws(UsageError) -> [String: Invocation.Setting] {
        var values = reading.values
        for option in reading.options where values[option.name] == nil {
            values[option.name] = try option.unsaid(environment)
        }
        return values
    }
}

extension OptionForm {
    /// The value if the command line does not set the option: from the environment, or else the default.
    package func unsaid(_ environment: [String: String]) throws(UsageError) -> Invocation.Setting? {
        if let variable = self.environment, let text = environment[variable], !text.isEmpty {
            do throws(Misfit) {
                return .init(values: [try read(text)], origin: .environment(variable: variable))
            } catch {
                throw UsageError(
                    "\(variable)=\(text.quotedIfNeeded) in the environment: \(error.why)",
                    hint: error.hint ?? "the variable sets \(word); unset or correct it",
                    exitCode: .configuration
                )
            }
        }
        guard let fallback else { return nil }
        do throws(Misfit) {
            return .init(values: [try read(fallback)], origin: .fallback)
        } catch {
            preconditionFailure("the default of \(word) does not fit: \(error.why)")
        }
    }
}

extension [String] {
    /// `; did you mean a or b?`; empty if there is nothing to suggest.
    package var question: String { isEmpty ? "" : "; did you mean \(joined(separator: " or "))?" }
}

extension String {
    /// Quoted if it holds more than plain characters.
    fileprivate var quotedIfNeeded: String {
        let plain = !isEmpty && unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F && $0 != "\"" }
        return plain ? self : debugDescription
    }
}
