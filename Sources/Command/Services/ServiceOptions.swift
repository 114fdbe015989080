import Console
import Conversion
import Ledger
import Storage
import Worker

/// The options that `worker` and `coordinator` share.
enum ServiceOptions {
    static let root = Option<WorkerConfiguration.RootPlace>(
        "root",
        .rootPlace,
        "jobs refer to the folder PATH as NAME:; RULES restrict its use",
        isRepeatable: true,
        in: .work
    )

    static func open(_ places: [WorkerConfiguration.RootPlace]) throws(StorageError) -> StorageRoots {
        var roots: [StorageRoot] = []
        for place in places {
            roots.append(try StorageRoot.open(name: place.name, path: place.path, rules: place.rules))
        }
        return try StorageRoots(roots)
    }

    /// Shows the error that kept a service from starting.
    static func show(_ error: any Error, on console: CommandOutput) throws -> ExitCode {
        switch error {
        case let error as StorageError:
            let failure = error.failure
            let hint = failure.hint?.printable
            console.complain(failure.message.printable, details: ["code \(failure.code)"], hint: hint)
            return failure.known == .invalidLocation ? .usage : failure.exitCode
        case let error as WorkerError:
            console.complain(error.detail.printable)
            return .usage
        default: throw error
        }
    }
}

extension ValueType where Value == WorkerConfiguration.RootPlace {
    static let rootPlace = ValueType(placeholder: "NAME=PATH[:RULES]", completion: .folders) { text throws(Misfit) in
        guard let sign = text.firstIndex(of: "="), sign != text.startIndex, text.index(after: sign) != text.endIndex
        else { throw Misfit(why: "must be NAME=PATH", hint: "as in --root archive=/mnt/archive") }
        let (name, path) = (String(text[..<sign]), text[text.index(after: sign)...])
        // A path may contain a colon: the part after the last one counts as rules only if it parses as rules.
        guard let colon = path.lastIndex(of: ":"), colon != path.startIndex,
            let rules = RootRules(path[path.index(after: colon)...])
        else { return WorkerConfiguration.RootPlace(name: name, path: String(path)) }
        return WorkerConfiguration.RootPlace(name: name, path: String(path[..<colon]), rules: rules)
    }
}
