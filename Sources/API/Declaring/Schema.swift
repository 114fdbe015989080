package import Conversion
package import Ledger

/// The shape of a JSON value or of a parameter: what requests are checked against, and what the description of the API
/// says about it.
package struct Schema: Sendable {
    package indirect enum Kind: Sendable {
        case text(lengths: ClosedRange<Int>, choices: [String]?)
        case name(NameRule)
        case whole(ClosedRange<Int64>)
        case number
        case truth
        case moment
        case list(Schema, most: Int?)
        case object([Field])
        /// An object with any names.
        case map(Schema)
        case anything
        /// The same as a missing member.
        case orNothing(Schema)
        /// A shape that has a name in the description.
        case named(String, Schema)
    }

    /// A member of an object.
    package struct Field: Sendable {
        package let name: String
        package let schema: Schema
        package let isRequired: Bool
        package let meaning: String
    }

    package let kind: Kind

    package static func text(_ lengths: ClosedRange<Int> = 0...4_096) -> Schema {
        Schema(kind: .text(lengths: lengths, choices: nil))
    }
    package static func choice(_ words: [String]) -> Schema { Schema(kind: .text(lengths: 1...64, choices: words)) }
    package static func whole(_ range: ClosedRange<Int64> = 0...Int64.max) -> Schema { Schema(kind: .whole(range)) }
    /// The numbers of one of the ledger's rules.
    package static func whole(by rule: ClosedRange<Int>) -> Schema {
        whole(Int64(rule.lowerBound)...Int64(rule.upperBound))
    }
    package static let queueName = Schema(kind: .name(LedgerRules.queueName))
    package static let tenantName = Schema(kind: .name(LedgerRules.tenantName))
    package static let webhookName = Schema(kind: .name(LedgerRules.webhookName))
    package static let id = Schema(kind: .whole(1...Int64.max))
    package static let number = Schema(kind: .number)
    package static let truth = Schema(kind: .truth)
    package static let moment = Schema(kind: .moment)
    package static let anything = Schema(kind: .anything)
    package static func list(_ item: Schema, most: Int? = nil) -> Schema { Schema(kind: .list(item, most: most)) }
    package static func map(_ value: Schema) -> Schema { Schema(kind: .map(value)) }
    package static func object(_ fields: [Field]) -> Schema { Schema(kind: .object(fields)) }
    package static func orNothing(_ schema: Schema) -> Schema { Schema(kind: .orNothing(schema)) }
    package static func named(_ name: String, _ schema: Schema) -> Schema { Schema(kind: .named(name, schema)) }
}

extension Schema {
    /// The shape of a record, from its declaration.
    static func record(_ name: String, _ type: (some DeclaredRecord).Type) -> Schema {
        .named(name, .object(type.descriptions.map(Field.init)))
    }

    /// The same without a name.
    static func object(of type: (some DeclaredRecord).Type) -> Schema { .object(type.descriptions.map(Field.init)) }

    fileprivate init(_ shape: RecordShape) {
        switch shape {
        case .text: self = .text()
        case .textIn(let lengths): self = .text(lengths)
        case .name(let rule): self = Schema(kind: .name(rule))
        case .id: self = .id
        case .whole: self = .whole()
        case .wholeIn(let range): self = .whole(by: range)
        case .number: self = .number
        case .truth: self = .truth
        case .moment: self = .moment
        case .choice(let words): self = .choice(words)
        case .list(let item, let most): self = .list(Schema(item), most: most)
        case .map(let value): self = .map(Schema(value))
        case .record(let name, let members): self = .named(name, .object(members.map(Field.init)))
        case .anything: self = .anything
        }
    }
}

extension Schema.Field {
    fileprivate init(_ member: RecordMember) {
        self.init(
            name: member.name,
            schema: Schema(member.shape),
            isRequired: member.isRequired,
            meaning: member.meaning
        )
    }

    /// A member that is always there.
    package static func must(_ name: String, _ schema: Schema, _ meaning: String) -> Schema.Field {
        .init(name: name, schema: schema, isRequired: true, meaning: meaning)
    }

    /// A member that may be missing.
    package static func may(_ name: String, _ schema: Schema, _ meaning: String) -> Schema.Field {
        .init(name: name, schema: schema, isRequired: false, meaning: meaning)
    }

    /// The same member, which may also be null: clients that make JSON of their own records send that for what is
    /// not set.
    package var orNull: Schema.Field {
        .init(name: name, schema: .orNothing(schema), isRequired: isRequired, meaning: meaning)
    }
}

// MARK: - Checking

extension Schema {
    /// What is wrong with a value, and where, as a JSON pointer.
    package struct Mistake: Sendable, Hashable, Encodable {
        package let pointer: String
        package let detail: String

        package init(pointer: String, detail: String) { (self.pointer, self.detail) = (pointer, detail) }
    }

    /// All mistakes of `value`, in order; ten at most.
    package func mistakes(in value: JSONValue) -> [Mistake] {
        var found: [Mistake] = []
        check(value, at: "", &found)
        return Array(found.prefix(10))
    }

    private func check(_ value: JSONValue, at pointer: String, _ found: inout [Mistake]) {
        guard found.count < 10 else { return }
        func expect(_ isRight: Bool, _ rule: String) {
            if !isRight { found.append(Mistake(pointer: pointer, detail: rule)) }
        }
        switch kind {
        case .text(let lengths, let choices):
            guard let text = value.text else { return expect(false, "must be text") }
            if let choices {
                expect(choices.contains(text), "must be one of \(choices.joined(separator: ", "))")
            } else {
                expect(lengths.contains(text.unicodeScalars.count), Self.words(lengths))
                expect(!text.unicodeScalars.contains("\0"), "must not hold U+0000")
            }
        case .name(let rule):
            guard let text = value.text else { return expect(false, "must be text") }
            expect(rule.permits(text), "must be \(rule.words)")
        case .whole(let range):
            guard let number = value.whole else { return expect(false, "must be a whole number") }
            expect(range.contains(number), "must be from \(range.lowerBound) to \(range.upperBound)")
        case .number: expect(value.isNumber, "must be a number")
        case .truth: expect(value.truth != nil, "must be true or false")
        case .moment:
            expect(value.text.flatMap(Moments.date) != nil, "must be a time such as 2026-11-20T09:31:04Z")
        case .list(let item, let most):
            guard let items = value.items else { return expect(false, "must be a list") }
            if let most { expect(items.count <= most, "may have \(most) items") }
            for (place, one) in items.enumerated() { item.check(one, at: "\(pointer)/\(place)", &found) }
        case .map(let schema):
            guard let members = value.members else { return expect(false, "must be an object") }
            for (name, one) in members.sorted(by: { $0.key < $1.key }) {
                schema.check(one, at: "\(pointer)/\(Self.escaped(name))", &found)
            }
        case .object(let fields):
            guard let members = value.members else { return expect(false, "must be an object") }
            for field in fields {
                if let member = members[field.name] {
                    field.schema.check(member, at: "\(pointer)/\(Self.escaped(field.name))", &found)
                } else {
                    expect(!field.isRequired, "\(field.name) is missing")
                }
            }
            let known = Set(fields.map(\.name))
            for name in members.keys.sorted() where !known.contains(name) {
                found.append(
                    Mistake(
                        pointer: "\(pointer)/\(Self.escaped(name))",
                        detail: "is not known; known: \(fields.map(\.name).joined(separator: ", "))"
                    )
                )
            }
        case .anything: break
        case .orNothing(let schema): if !value.isNothing { schema.check(value, at: pointer, &found) }
        case .named(_, let schema): schema.check(value, at: pointer, &found)
        }
    }

    private static func words(_ lengths: ClosedRange<Int>) -> String {
        "must have \(lengths.lowerBound) to \(lengths.upperBound) characters"
    }

    /// A name in a JSON pointer.
    private static func escaped(_ name: String) -> String {
        name.replacing("~", with: "~0").replacing("/", with: "~1")
    }

    /// Reads the text of a parameter as the kind of value that it should be; `nil` if it is none.
    package func value(ofParameter text: String) -> JSONValue? {
        switch kind {
        case .whole:
            // Of several spellings of one number, such as 007 and +7, only one is taken.
            Int64(text).flatMap { "\($0)" == text ? JSONValue.whole($0) : nil }
        case .truth: text == "true" ? .truth(true) : text == "false" ? .truth(false) : nil
        case .list(let item, _):
            {
                let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
                let values = parts.compactMap { item.value(ofParameter: $0) }
                return values.count == parts.count ? .list(values) : nil
            }()
        case .named(_, let schema), .orNothing(let schema): schema.value(ofParameter: text)
        case .text, .name, .moment: .text(text)
        case .number, .object, .map, .anything: nil
        }
    }

    /// What a parameter must be, in words.
    package var wanted: String {
        switch kind {
        case .text(_, let choices): choices.map { "one of \($0.joined(separator: ", "))" } ?? "text"
        case .name(let rule): rule.words
        case .whole(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .truth: "true or false"
        case .moment: "a time such as 2026-11-20T09:31:04Z"
        case .list(let item, _): "a list, with commas, of: \(item.wanted)"
        case .named(_, let schema), .orNothing(let schema): schema.wanted
        case .number: "a number"
        case .object, .map, .anything: "JSON"
        }
    }
}

// MARK: - Describing

extension Schema {
    /// The shape as JSON Schema; named shapes are references, and are added to `shapes`.
    package func description(_ shapes: inout [String: JSONValue]) -> JSONValue {
        switch kind {
        case .text(let lengths, let choices):
            if let choices { return .object(["type": .text("string"), "enum": .list(choices.map { .text($0) })]) }
            return .object([
                "type": .text("string"), "minLength": .whole(Int64(lengths.lowerBound)),
                "maxLength": .whole(Int64(lengths.upperBound)),
            ])
        case .name(let rule):
            return .object(["type": .text("string"), "pattern": .text(rule.pattern)])
        case .whole(let range):
            return .object([
                "type": .text("integer"), "minimum": .whole(range.lowerBound), "maximum": .whole(range.upperBound),
            ])
        case .number: return .object(["type": .text("number")])
        case .truth: return .object(["type": .text("boolean")])
        case .moment: return .object(["type": .text("string"), "format": .text("date-time")])
        case .list(let item, let most):
            var members: [String: JSONValue] = ["type": .text("array"), "items": item.description(&shapes)]
            if let most { members["maxItems"] = .whole(Int64(most)) }
            return .object(members)
        case .map(let value):
            return .object(["type": .text("object"), "additionalProperties": value.description(&shapes)])
        case .object(let fields):
            var members: [String: JSONValue] = [:]
            for field in fields {
                members[field.name] = field.schema.description(&shapes).described(field.meaning)
            }
            let required = fields.filter(\.isRequired).map { JSONValue.text($0.name) }
            var whole: [String: JSONValue] = [
                "type": .text("object"), "properties": .object(members), "additionalProperties": .truth(false),
            ]
            if !required.isEmpty { whole["required"] = .list(required) }
            return .object(whole)
        case .anything: return .object([:])
        case .orNothing(let schema):
            let nothing = JSONValue.object(["type": .text("null")])
            return .object(["anyOf": .list([schema.description(&shapes), nothing])])
        case .named(let name, let schema):
            if shapes[name] == nil {
                // Before its description, which may refer to it.
                shapes[name] = .object([:])
                shapes[name] = schema.description(&shapes)
            }
            return .object(["$ref": .text("#/components/schemas/\(name)")])
        }
    }
}

extension JSONValue {
    /// The same shape with a description beside it.
    func described(_ meaning: String) -> JSONValue {
        guard !meaning.isEmpty, var members else { return self }
        members["description"] = .text(meaning)
        return .object(members)
    }
}
