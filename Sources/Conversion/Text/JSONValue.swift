import FoundationEssentials

/// Any JSON: what the ledger keeps is passed through unchanged.
package struct JSONValue: Codable, Sendable {
    private indirect enum Node: Sendable {
        case object([String: JSONValue])
        case list([JSONValue])
        case text(String)
        case whole(Int64)
        case number(Double)
        case truth(Bool)
        case nothing
    }

    private let node: Node

    /// Text that is not valid JSON becomes a JSON string.
    package init(text: String) {
        do {
            self = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
        } catch {
            // The column is of type jsonb, so decoding fails only for a number that does not fit into a Double.
            self = JSONValue(.text(text))
        }
    }

    private init(_ node: Node) { self.node = node }

    /// Reads JSON; `nil` if the bytes are not JSON.
    package init?(json bytes: [UInt8]) {
        // `try?`: what is wrong with it does not matter.
        guard let value = try? JSONDecoder().decode(JSONValue.self, from: Data(bytes)) else { return nil }
        self = value
    }

    package static func object(_ members: [String: JSONValue]) -> JSONValue { JSONValue(.object(members)) }
    package static func list(_ items: [JSONValue]) -> JSONValue { JSONValue(.list(items)) }
    package static func text(_ text: String) -> JSONValue { JSONValue(.text(text)) }
    package static func whole(_ number: Int64) -> JSONValue { JSONValue(.whole(number)) }
    package static func truth(_ truth: Bool) -> JSONValue { JSONValue(.truth(truth)) }

    package var members: [String: JSONValue]? { if case .object(let members) = node { members } else { nil } }
    package var items: [JSONValue]? { if case .list(let items) = node { items } else { nil } }
    package var text: String? { if case .text(let text) = node { text } else { nil } }
    package var whole: Int64? { if case .whole(let number) = node { number } else { nil } }
    package var truth: Bool? { if case .truth(let truth) = node { truth } else { nil } }
    package var isNothing: Bool { if case .nothing = node { true } else { false } }
    package var isNumber: Bool {
        switch node {
        case .whole, .number: true
        case .object, .list, .text, .truth, .nothing: false
        }
    }

    package init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        // A decoder does not reveal the type of a value. Each type is tried in turn, and a failure only means "not
        // this type". The types that recipes use most come first, because every failed attempt builds an error with
        // its message.
        if let text = try? value.decode(String.self) {
            node = .text(text)
        } else if let members = try? value.decode([String: JSONValue].self) {
            node = .object(members)
        } else if let list = try? value.decode([JSONValue].self) {
            node = .list(list)
        } else if let whole = try? value.decode(Int64.self) {
            node = .whole(whole)
        } else if let number = try? value.decode(Double.self) {
            node = .number(number)
        } else if let truth = try? value.decode(Bool.self) {
            node = .truth(truth)
        } else if value.decodeNil() {
            node = .nothing
        } else {
            throw DecodingError.dataCorruptedError(in: value, debugDescription: "not a JSON value")
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch node {
        case .object(let members): try value.encode(members)
        case .list(let items): try value.encode(items)
        case .text(let text): try value.encode(text)
        case .whole(let number): try value.encode(number)
        case .number(let number): try value.encode(number)
        case .truth(let truth): try value.encode(truth)
        case .nothing: try value.encodeNil()
        }
    }
}
