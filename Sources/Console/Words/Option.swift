/// An option without its value type, for parsing, help, completion and manual pages.
package struct OptionForm: Sendable {
    /// Without dashes: `bit-rate`.
    package let name: String
    package let letter: Character?
    /// The placeholder for the value in help; `nil` for a switch.
    package let placeholder: String?
    package let summary: String
    /// The default, if neither the command line nor the environment sets the option.
    package let fallback: String?
    /// The variable to read if the command line does not set the option.
    package let environment: String?
    package let isRepeatable: Bool
    /// The heading under which help lists it.
    package let group: Group
    package let completion: Completion
    package let read: @Sendable (String) throws(Misfit) -> any Sendable

    /// The headings of help, in order.
    package enum Group: String, Sendable, CaseIterable {
        case format = "Format"
        case source = "Source"
        case edit = "Edit"
        case destination = "Destination"
        case work = "Work"
        case submission = "Submission"
        case jobs = "Selection"
        case ledger = "Ledger"
        case output = "Output"
        case general = "General"
    }

    package var isSwitch: Bool { placeholder == nil }

    /// `--bit-rate`
    package var word: String { "--\(name)" }

    /// The same without its letter, for commands that use the letter for another option.
    package var withoutLetter: OptionForm {
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
    package var usage: String {
        (letter.map { "-\($0), " } ?? "") + word + (placeholder.map { " \($0)" } ?? "")
    }
}

/// An option that may have no value.
package struct Option<Value: Sendable>: Sendable {
    package let form: OptionForm

    package init(
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
package struct SettledOption<Value: Sendable>: Sendable {
    package let form: OptionForm

    /// `fallback` is parsed like any other value; an invalid one traps at the first use.
    package init(
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

/// An option without a value.
package struct Switch: Sendable {
    package let form: OptionForm

    package init(_ name: String, letter: Character? = nil, _ summary: String, in group: OptionForm.Group) {
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
