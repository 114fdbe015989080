import Conversion
import HTTPServer

/// The parts of docs/api-reference.md that say what each request takes and answers, from the OpenAPI description.
package struct APIReference {
    private let operations: [Operation]
    private let paths: [String: JSONValue]
    private let shapes: [String: JSONValue]

    /// Throws if the declarations make no description.
    package init() throws {
        operations = try APIServer.operations(version: "")
        let description = JSONValue(text: try APIDescription.text(operations, version: "")).members ?? [:]
        paths = description["paths"]?.members ?? [:]
        shapes = description["components"]?.members?["schemas"]?.members ?? [:]
    }

    /// A section for each request.
    package func requests() -> String {
        operations.map { operation in
            let method = operation.method.rawValue
            let facts = paths[operation.path]?.members?[method.lowercased()]?.members ?? [:]
            var lines = ["### \(method) \(operation.path)", "", "\(operation.summary) (`\(operation.name)`)", ""]
            lines += Self.table("parameter", (facts["parameters"]?.items ?? []).flatMap(Self.parameter))
            lines += Self.body(facts["requestBody"]?.members)
            lines += Self.answer(facts["responses"]?.members ?? [:], operation)
            return lines.joined(separator: "\n")
        }.joined(separator: "\n")
    }

    /// A section for each named shape.
    package func records() -> String {
        shapes.sorted { $0.key < $1.key }.map { name, shape in
            let rows = Self.rows(shape, "")
            let lines = rows.isEmpty ? [Self.words(shape), ""] : Self.table("member", rows)
            return (["### \(name)", ""] + lines).joined(separator: "\n")
        }.joined(separator: "\n")
    }

    // MARK: - Parts of a request

    private static func parameter(_ value: JSONValue) -> [Row] {
        let facts = value.members ?? [:]
        guard let name = facts["name"]?.text, let schema = facts["schema"] else { return [] }
        let place = facts["in"]?.text == "path" ? "in the path: " : ""
        let isRequired = facts["required"]?.truth ?? false
        return [Row(name, words(schema), isRequired, place + (facts["description"]?.text ?? ""))]
    }

    private static func body(_ facts: [String: JSONValue]?) -> [String] {
        guard let facts, let content = facts["content"]?.members?.sorted(by: { $0.key < $1.key }).first else {
            return []
        }
        let also = facts["description"]?.text.map { ", \($0)" } ?? ""
        return part("Body", content.key, content.value.members?["schema"], also)
    }

    private static func answer(_ answers: [String: JSONValue], _ operation: Operation) -> [String] {
        let codes = answers.keys.filter { $0 != "default" && $0 != "414" }.sorted()
        let content = answers["\(operation.status.rawValue)"]?.members?["content"]?.members?.first
        let title = "Answer \(codes.joined(separator: ", "))"
        return part(title, operation.answerType, content?.value.members?["schema"], "")
    }

    /// One line for a named shape, and a table for one without a name.
    private static func part(_ title: String, _ type: String, _ schema: JSONValue?, _ also: String) -> [String] {
        let rows = schema.map { Self.rows($0, "") } ?? []
        guard rows.isEmpty else { return ["\(title): `\(type)`\(also)", ""] + table("member", rows) }
        let shape = schema.map(words) ?? anything
        return ["\(title): `\(type)`\(shape == anything ? "" : ", \(shape)")\(also)", ""]
    }

    // MARK: - Tables

    private struct Row {
        let name, kind, meaning: String
        let isRequired: Bool

        init(_ name: String, _ kind: String, _ isRequired: Bool, _ meaning: String) {
            (self.name, self.kind, self.isRequired, self.meaning) = (name, kind, isRequired, meaning)
        }
    }

    private static func table(_ heading: String, _ rows: [Row]) -> [String] {
        if rows.isEmpty { return [] }
        let lines = rows.map { row in
            let meaning = row.meaning.replacing("|", with: "\\|")
            return "| `\(row.name)` | \(row.kind) | \(row.isRequired ? "yes" : "") | \(meaning) |"
        }
        return ["| \(heading) | type | always | meaning |", "| --- | --- | --- | --- |"] + lines + [""]
    }

    /// The members of an object, and below each one those of an object without a name.
    private static func rows(_ schema: JSONValue, _ prefix: String) -> [Row] {
        let facts = schema.members ?? [:]
        let required = Set((facts["required"]?.items ?? []).compactMap(\.text))
        let members = (facts["properties"]?.members ?? [:]).sorted { $0.key < $1.key }
        return members.flatMap { name, member in
            let meaning = member.members?["description"]?.text ?? ""
            let row = Row(prefix + name, words(member), required.contains(name), meaning)
            let (inner, mark) = inside(member)
            return [row] + rows(inner, "\(prefix)\(name)\(mark).")
        }
    }

    /// The object that a member holds, alone or in a list.
    private static func inside(_ schema: JSONValue) -> (JSONValue, String) {
        if let choices = schema.members?["anyOf"]?.items, let first = choices.first { return inside(first) }
        if let item = schema.members?["items"] { return (inside(item).0, "[]") }
        return (schema, "")
    }

    private static let anything = "any JSON"

    /// What a value is, in words.
    private static func words(_ schema: JSONValue) -> String {
        let facts = schema.members ?? [:]
        if let name = facts["$ref"]?.text?.split(separator: "/").last {
            return "[\(name)](#\(name.lowercased()))"
        }
        if let first = facts["anyOf"]?.items?.first { return "\(words(first)), or null" }
        if let choices = facts["enum"]?.items {
            return choices.compactMap(\.text).map { "`\($0)`" }.joined(separator: ", ")
        }
        switch facts["type"]?.text {
        case "string":
            if facts["format"] != nil { return "time" }
            if facts["pattern"] != nil { return "name" }
            guard let most = facts["maxLength"]?.whole, most != 4_096 else { return "text" }
            return "text of at most \(most) characters"
        case "integer":
            guard let most = facts["maximum"]?.whole, most != Int64.max else { return "whole number" }
            return "whole number, \(facts["minimum"]?.whole ?? 0) to \(most)"
        case "number": return "number"
        case "boolean": return "true or false"
        case "array":
            let most = facts["maxItems"]?.whole.map { ", at most \($0)" } ?? ""
            return "list of \(facts["items"].map(words) ?? anything)\(most)"
        case "object":
            guard let value = facts["additionalProperties"], value.truth == nil else { return "object" }
            return "object of \(words(value))"
        default: return anything
        }
    }
}
