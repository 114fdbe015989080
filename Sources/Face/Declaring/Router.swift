import Records

/// Finds the operation of a request.
struct Router: Sendable {
    private let operations: [Operation]

    init(_ operations: [Operation]) { self.operations = operations }

    enum Match {
        case operation(Operation, path: [String: String])
        /// The path exists, for other methods.
        case methods([String])
        case none
    }

    func match(_ head: RequestHead) -> Match {
        var methods: [String] = []
        for operation in operations {
            guard let values = Self.values(operation.parts, head.path, takesRest: operation.takesRest) else { continue }
            if operation.method.rawValue == head.method || head.method == "HEAD" && operation.method == .get {
                return .operation(operation, path: values)
            }
            methods.append(operation.method.rawValue)
        }
        return methods.isEmpty ? .none : .methods(methods.sorted())
    }

    private static func values(_ pattern: [Substring], _ path: [String], takesRest: Bool) -> [String: String]? {
        guard pattern.count == path.count || takesRest && path.count > pattern.count else { return nil }
        // Every part was decoded, so a slash that was escaped is now one like the others.
        let rest = path.dropFirst(pattern.count - 1).joined(separator: "/")
        let path = Array(path.prefix(pattern.count - 1)) + [rest]
        var values: [String: String] = [:]
        for (part, given) in zip(pattern, path) {
            if part.first == "{" {
                values[String(part.dropFirst().dropLast())] = given
            } else if part != given[...] {
                return nil
            }
        }
        return values
    }

    /// The parameters of a request, checked.
    static func parameters(of operation: Operation, _ head: RequestHead, path: [String: String]) throws(Problem)
        -> [String: JSONValue]
    {
        var found: [String: JSONValue] = [:]
        var mistakes: [Schema.Mistake] = []
        for parameter in operation.parameters {
            let given: [String]
            if let value = path[parameter.name] {
                given = [value]
            } else {
                given = head.query.filter { $0.name == parameter.name }.map(\.value)
            }
            guard let text = given.first else {
                if parameter.isRequired { mistakes.append(.init(pointer: parameter.name, detail: "is missing")) }
                continue
            }
            guard given.count == 1 else {
                mistakes.append(.init(pointer: parameter.name, detail: "is given more than once"))
                continue
            }
            guard let value = parameter.schema.value(ofParameter: text), parameter.schema.mistakes(in: value).isEmpty
            else {
                // What does not exist is not found, and a path that is no id names nothing.
                if path[parameter.name] != nil { throw Problem(.noSuchThing, "there is no \(parameter.name) \(text)") }
                mistakes.append(.init(pointer: parameter.name, detail: "must be \(parameter.schema.wanted)"))
                continue
            }
            found[parameter.name] = value
        }
        let known = Set(operation.parameters.map(\.name))
        for (name, _) in head.query where !known.contains(name) {
            mistakes.append(.init(pointer: name, detail: "is not a parameter of this operation"))
        }
        guard mistakes.isEmpty else { throw Problem(.badParameter, mistakes: mistakes) }
        return found
    }
}
