/// A parsed command line: every value has been read and has its type.
package struct Invocation: Sendable {
    /// The names from the top-level command down: `["config", "show"]`.
    package let path: [String]
    /// The environment that the process was started with.
    package let environment: [String: String]
    /// The command line as the user typed it, without the program's name.
    package let typed: [String]
    /// What the program hands to its commands beside the words: facts that one run reads once.
    package var attachment: (any Sendable)?
    private let arguments: [String: [String]]
    private var values: [String: Setting]

    /// An option's values and where they come from.
    package struct Setting: Sendable {
        package internal(set) var values: [any Sendable]
        package let origin: Origin
    }

    package enum Origin: Sendable, Hashable {
        case commandLine
        case environment(variable: String)
        /// A line of a settings file.
        case file(path: String, line: Int)
        case fallback
    }

    package init(
        path: [String],
        environment: [String: String],
        typed: [String] = [],
        arguments: [String: [String]],
        values: [String: Setting]
    ) {
        self.path = path
        self.environment = environment
        self.typed = typed
        self.arguments = arguments
        self.values = values
    }

    /// `nil` if the option has no value.
    package subscript<Value>(_ option: Option<Value>) -> Value? { all(option).last }

    /// In the order in which the user gave them.
    package func all<Value>(_ option: Option<Value>) -> [Value] {
        (values[option.form.name]?.values ?? []).map { $0 as! Value }  // the option's own type has read it
    }

    package subscript<Value>(_ option: SettledOption<Value>) -> Value {
        guard let value = values[option.form.name]?.values.last else {
            preconditionFailure("\(option.form.word) is not an option of \(path.joined(separator: " "))")
        }
        return value as! Value  // the option's own type has read it
    }

    package subscript(_ option: Switch) -> Bool { values[option.form.name] != nil }

    /// Where the value in effect comes from; `nil` if there is none.
    package func origin(of option: OptionForm) -> Origin? { values[option.name]?.origin }

    /// The same with `settings` for options that have no value or only their default.
    func adding(_ settings: [String: Setting]) -> Invocation {
        var invocation = self
        for (name, setting) in settings where values[name].map({ $0.origin == .fallback }) ?? true {
            invocation.values[name] = setting
        }
        return invocation
    }

    /// The same with what the environment says about options that the command does not have. A value that does not fit
    /// throws, as it does in commands that have the option.
    package func reading(_ forms: [OptionForm]) throws(UsageError) -> Invocation {
        var settings: [String: Setting] = [:]
        for form in forms where values[form.name] == nil { settings[form.name] = try form.unsaid(environment) }
        return adding(settings)
    }

    /// The command line as typed, with `words` in place of `options`: what a shell would read.
    package func line(replacing options: [OptionForm], by words: [String]) -> [String] {
        let end = typed.firstIndex(of: "--") ?? typed.endIndex
        var kept: [String] = []
        var place = typed.startIndex
        while place < end {
            let word = typed[place]
            let option = options.first { word == $0.word || word.hasPrefix($0.word + "=") }
            if option == nil { kept.append(word) }
            // The value of an option may be a word of its own.
            let takesNext = option.map { !$0.isSwitch && word == $0.word } ?? false
            place += takesNext ? 2 : 1
        }
        return kept + words + typed[min(end, typed.endIndex)...]
    }

    /// The words of an argument; empty if it was left out.
    package func words(_ argument: Argument) -> [String] { arguments[argument.name] ?? [] }

    /// The word of a required argument.
    package func word(_ argument: Argument) -> String {
        guard let word = words(argument).first else { preconditionFailure("\(argument.name) is not required") }
        return word
    }
}
