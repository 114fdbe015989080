import Conversion
import HTTPServer
import Ledger

/// The description of the API in OpenAPI 3.1, from the declarations.
enum APIDescription {
    static func text(_ operations: [Operation], version: String) throws -> String {
        var shapes: [String: JSONValue] = [:]
        let problem = Problem.schema.description(&shapes)
        var paths: [String: JSONValue] = [:]
        for operation in operations {
            var methods = paths[operation.path]?.members ?? [:]
            methods[operation.method.rawValue.lowercased()] = description(of: operation, problem, &shapes)
            paths[operation.path] = .object(methods)
        }
        let whole: [String: JSONValue] = [
            "openapi": .text("3.1.0"),
            "info": .object([
                "title": .text("Sluice"), "version": .text(version),
                "description": .text("Converts audio files: submit jobs, watch them, change them."),
            ]),
            "paths": .object(paths),
            "components": .object([
                "schemas": .object(shapes),
                "securitySchemes": .object([
                    "token": .object(["type": .text("http"), "scheme": .text("bearer")])
                ]),
            ]),
        ]
        return try JSONText.line(JSONValue.object(whole))
    }

    private static func description(
        of operation: Operation,
        _ problem: JSONValue,
        _ shapes: inout [String: JSONValue]
    ) -> JSONValue {
        var members: [String: JSONValue] = [
            "operationId": .text(operation.name), "summary": .text(operation.summary),
        ]
        let inPath = Set(operation.pattern.names)
        members["parameters"] = .list(
            operation.parameters.map { parameter in
                let isInPath = inPath.contains(parameter.name)
                var described: [String: JSONValue] = [
                    "name": .text(parameter.name), "in": .text(isInPath ? "path" : "query"),
                    "description": .text(parameter.meaning), "required": .truth(isInPath || parameter.isRequired),
                    "schema": parameter.schema.description(&shapes),
                ]
                if case .list = parameter.schema.kind {
                    described["style"] = .text("form")
                    described["explode"] = .truth(false)
                }
                return .object(described)
            }
        )
        func content(_ types: [(String, JSONValue)]) -> JSONValue {
            .object(Dictionary(uniqueKeysWithValues: types.map { ($0.0, .object(["schema": $0.1])) }))
        }
        switch operation.body {
        case .none: break
        case .json(let schema):
            members["requestBody"] = .object([
                "required": .truth(true), "content": content([("application/json", schema.description(&shapes))]),
            ])
        case .jsonOrLines(let schema, _):
            members["requestBody"] = .object([
                "required": .truth(true),
                "description": .text("or application/x-ndjson: one job for each line, of any length"),
                "content": content([("application/json", schema.description(&shapes))]),
            ])
        case .file:
            members["requestBody"] = .object([
                "required": .truth(true), "description": .text("the bytes of the file, of any type"),
                "content": content([("application/octet-stream", .object([:]))]),
            ])
        }
        var answers: [String: JSONValue] = [
            "default": .object([
                "description": .text("a problem"), "content": content([("application/problem+json", problem)]),
            ]),
            // The server's library answers this, before anyone can say a problem.
            "414": .object(["description": .text("the address takes more than a connection's memory")]),
        ]
        let shape = operation.answer?.description(&shapes) ?? .object([:])
        answers["\(operation.status.rawValue)"] = .object([
            "description": .text("done"), "content": content([(operation.answerType, shape)]),
        ])
        if operation.status == .created {
            answers["200"] = .object([
                "description": .text("a repetition, which has added nothing"),
                "content": content([(operation.answerType, shape)]),
            ])
        }
        for status in operation.furtherStatuses {
            answers["\(status.rawValue)"] = .object([
                "description": .text(status.title.lowercased()), "content": content([(operation.answerType, shape)]),
            ])
        }
        members["responses"] = .object(answers)
        switch operation.access {
        case .open: members["security"] = .list([])
        case .roles:
            members["security"] = .list([.object(["token": .list([])])])
            members["x-roles"] = .list(operation.access.roles.map { .text($0.rawValue) })
        }
        return .object(members)
    }
}
