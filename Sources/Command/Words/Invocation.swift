/// A command with its words read: every value is there and of its type.
struct Invocation: Sendable {
    /// The command's name with those above it: `["config", "show"]`.
    let path: [String]
    /// The variables that the process was started with.
    let environment: [String: String]
    /// The contexts of the user's configuration.
    var contexts: ContextMemory
    private let arguments: [String: [String]]
    private let values: [String: Setting]

    /// A value and where it was said.
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

    /// `nil` where nothing was said.
    subscript<Value>(_ option: Option<Value>) -> Value? { all(option).last }

    /// In the order in which they were said.
    func all<Value>(_ option: Option<Value>) -> [Value] {
        (values[option.form.name]?.values ?? []).map { $0 as! Value }  // read by this option's own type
    }

    subscript<Value>(_ option: SettledOption<Value>) -> Value {
        guard let value = values[option.form.name]?.values.last else {
            preconditionFailure("\(option.form.word) is not an option of \(path.joined(separator: " "))")
        }
        return value as! Value  // read by this option's own type
    }

    subscript(_ option: Switch) -> Bool { values[option.form.name] != nil }

    /// Where the value in force was said; `nil` where there is none.
    func origin(of option: OptionForm) -> Origin? { values[option.name]?.origin }

    /// The words of an argument, none if it was left out.
    func words(_ argument: Argument) -> [String] { arguments[argument.name] ?? [] }

    /// The word of an argument that has to be there.
    func word(_ argument: Argument) -> String {
        guard let word = words(argument).first else { preconditionFailure("\(argument.name) is not required") }
        return word
    }
}
