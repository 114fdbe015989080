/// A parsed command line: every value has been read and has its type.
struct Invocation: Sendable {
    /// The names from the top-level command down: `["config", "show"]`.
    let path: [String]
    /// The environment that the process was started with.
    let environment: [String: String]
    /// The contexts of the user's configuration.
    var contexts: ContextMemory
    private let arguments: [String: [String]]
    private let values: [String: Setting]

    /// An option's values and where they come from.
    struct Setting: Sendable {
        var values: [any Sendable]
        let origin: Origin
    }

    enum Origin: Sendable, Hashable {
        case commandLine
        case environment(variable: String)
        case fallback
    }

    init(
        path: [String],
        environment: [String: String],
        arguments: [String: [String]],
        values: [String: Setting]
    ) {
        self.path = path
        self.environment = environment
        contexts = ContextMemory(environment: environment)
        self.arguments = arguments
        self.values = values
    }

    /// `nil` if the option has no value.
    subscript<Value>(_ option: Option<Value>) -> Value? { all(option).last }

    /// In the order in which the user gave them.
    func all<Value>(_ option: Option<Value>) -> [Value] {
        (values[option.form.name]?.values ?? []).map { $0 as! Value }  // the option's own type has read it
    }

    subscript<Value>(_ option: SettledOption<Value>) -> Value {
        guard let value = values[option.form.name]?.values.last else {
            preconditionFailure("\(option.form.word) is not an option of \(path.joined(separator: " "))")
        }
        return value as! Value  // the option's own type has read it
    }

    subscript(_ option: Switch) -> Bool { values[option.form.name] != nil }

    /// Where the value in effect comes from; `nil` if there is none.
    func origin(of option: OptionForm) -> Origin? { values[option.name]?.origin }

    /// The words of an argument; empty if it was left out.
    func words(_ argument: Argument) -> [String] { arguments[argument.name] ?? [] }

    /// The word of a required argument.
    func word(_ argument: Argument) -> String {
        guard let word = words(argument).first else { preconditionFailure("\(argument.name) is not required") }
        return word
    }
}
