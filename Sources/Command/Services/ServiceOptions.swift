import Conversion
import Ledger
import Storage
import Worker

/// The options that `worker` and `coordinator` share.
enum ServiceOptions {
    static let root = Option<WorkerConfiguration.RootPlace>(
        "root",
        .rootPlace,
        "what is called NAME: in sources and destinations lies in the folder PATH here",
        isRepeatable: true,
        in: .work
    )

    static func open(_ places: [WorkerConfiguration.RootPlace]) throws(StorageError) -> StorageRoots {
        var roots: [StorageRoot] = []
        for place in places { roots.append(try StorageRoot.open(name: place.name, path: place.path)) }
        return try StorageRoots(roots)
    }

    /// Shows what a service could not begin with.
    static func show(_ error: any Error, on console: Console) throws -> ExitCode {
        switch error {
        case let error as StorageError:
            let failure = error.failure
            let hint = failure.hint?.printable
            console.complain(failure.message.printable, details: ["code \(failure.code)"], hint: hint)
            return failure.code == StorageError.Code.invalidLocation.rawValue ? .usage : failure.exitCode
        case let error as WorkerError:
            console.complain(error.detail.printable)
            return .usage
        default: throw error
        }
    }
}

extension ValueType where Value == WorkerConfiguration.RootPlace {
    static let rootPlace = ValueType(placeholder: "NAME=PATH", completion: .folders) { text throws(Misfit) in
        guard let sign = text.firstIndex(of: "="), sign != text.startIndex, text.index(after: sign) != text.endIndex
        else { throw Misfit(why: "has to be NAME=PATH", hint: "as in --root archive=/mnt/archive") }
        return WorkerConfiguration.RootPlace(
            name: String(text[..<sign]),
            path: String(text[text.index(after: sign)...])
        )
    }
}
