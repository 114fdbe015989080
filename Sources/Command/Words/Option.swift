/// An option as parsing, help, completion and manual pages see it, whatever its values are.
struct OptionForm: Sendable {
    /// Without dashes: `bit-rate`.
    let name: String
    let letter: Character?
    /// What stands for the value in help; `nil` for a switch.
    let placeholder: String?
    let summary: String
    /// Taken when neither the command line nor the environment says anything.
    let fallback: String?
    /// The variable that is read when the command line says nothing.
    let environment: String?
    let isRepeatable: Bool
    /// The heading in help under which it stands.
    let group: Group
    let completion: Completion
    let read: @Sendable (String) throws(Misfit) -> any Sendable

    /// Headings of help, in their order.
    enum Group: String, Sendable, CaseIterable {
        case format = "Format"
        case source = "Source"
        case destination = "Destination"
        case work = "Work"
        case submission = "Submission"
        case jobs = "Which jobs"
        case ledger = "Ledger"
        case output = "What is printed"
        case general = "General"
    }

    var isSwitch: Bool { placeholder == nil }

    /// `--bit-rate`
    var word: String { "--\(name)" }

    /// The same without its letter, for commands that need the letter for something else.
    var withoutLetter: OptionForm {
        OptionForm(
            name: name,
            letter: nil,
            placeholder: placeholder,
            summary: summary,
            fallback: fallback,
            environment: environment,
            isRepeatable: isRepeatable,
            group: group,
            completion: completion,
            read: read
        )
    }

    /// `--bit-rate RATE`, `-q, --quiet`
    var usage: String {
        (letter.map { "-\($0), " } ?? "") + word + (placeholder.map { " \($0)" } ?? "")
    }
}

/// An option whose value may be missing.
struct Option<Value: Sendable>: Sendable {
    let form: OptionForm

    init(
        _ name: String,
        letter: Character? = nil,
        _ type: ValueType<Value>,
        _ summary: String,
        environment: String? = nil,
        isRepeatable: Bool = false,
        in group: OptionForm.Group
    ) {
        form = OptionForm(
            name: name,
            letter: letter,
            placeholder: type.placeholder,
            summary: summary,
            fallback: nil,
            environment: environment,
            isRepeatable: isRepeatable,
            group: group,
            completion: type.completion,
            read: { text throws(Misfit) in try type.read(text) }
        )
    }
}

/// An option that always has a value.
struct SettledOption<Value: Sendable>: Sendable {
    let form: OptionForm

    /// `fallback` is read like any other value; one that does not fit traps at the first use.
    init(
        _ name: String,
        letter: Character? = nil,
        _ type: ValueType<Value>,
        fallback: String,
        _ summary: String,
        environment: String? = nil,
        in group: OptionForm.Group
    ) {
        form = OptionForm(
            name: name,
            letter: letter,
            placeholder: type.placeholder,
            summary: summary,
            fallback: fallback,
            environment: environment,
            isRepeatable: false,
            group: group,
            completion: type.completion,
            read: { text throws(Misfit) in try type.read(text) }
        )
    }
}

/// An option without a value: said or not.
struct Switch: Sendable {
    let form: OptionForm

    init(_ name: String, letter: Character? = nil, _ summary: String, in group: OptionForm.Group) {
        form = OptionForm(
            name: name,
            letter: letter,
            placeholder: nil,
            summary: summary,
            fallback: nil,
            environment: nil,
            isRepeatable: false,
            group: group,
            completion: .nothing,
            read: { _ throws(Misfit) in true }
        )
    }
}
