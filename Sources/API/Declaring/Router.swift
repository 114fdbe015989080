import Conversion
import HTTPServer

/// Finds the operation of a request.
struct Router: Sendable {
    private let operations: [(operation: Operation, pattern: PathPattern)]

    init(_ operations: [Operation]) {
        self.operations = operations.map { ($0, $0.pattern) }
    }

    enum Match {
        case operation(Operation, path: [String: String])
        /// The path exists, for other methods.
        case methods([String])
        case none
    }

    func match(_ head: RequestHead) -> Match {
        var methods: [String] = []
        for (operation, pattern) in operations {
            guard let values = pattern.values(in: head.path) else { continue }
            if operation.method.rawValue == head.method || head.method == "HEAD" && operation.method == .get {
                return .operation(operation, path: values)
            }
            methods.append(operation.method.rawValue)
        }
        return methods.isEmpty ? .none : .methods(methods.sorted())
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
                // What does not exist is not found, and a path without an id names nothing.
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
