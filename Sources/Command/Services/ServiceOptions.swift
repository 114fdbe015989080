import Console
import Conversion
import Ledger
import Storage
import System
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

    /// Roots of the form `NAME=PATH[:RULES]` with absolute paths, so that they hold in every folder. Buckets and web servers stay
    /// as they are if they may be there. The private cluster refuses them.
    static func absoluteRoots(
        _ words: [String],
        mayBeServers: Bool = false,
        _ invocation: Invocation
    ) throws -> [String] {
        let places = try words.map { word throws -> WorkerConfiguration.RootPlace in
            do throws(Misfit) {
                return try ValueType<WorkerConfiguration.RootPlace>.rootPlace.read(word)
            } catch {
                throw UsageError("--root \(word): \(error.why)")
            }
        }
        let servers = places.filter { !$0.isFolder }
        if let server = servers.first, !mayBeServers {
            throw UsageError.server(server) { option in
                "start another worker beside that of your private cluster: sluice worker \(option) --root NAME=PATH"
            }
        }
        // Checks the names, each of which may occur only once.
        let folders = places.filter(\.isFolder).map { "\($0.name)=\($0.path)" }
        let paths = try PathRoots(words: folders, environment: invocation.environment)
            .adding(servers, areNamed: false, environment: invocation.environment)
        return zip(words, places).map { word, place in
            guard place.isFolder else { return word }
            let rules = word.utf8.dropFirst(place.name.utf8.count + 1 + place.path.utf8.count)
            return "\(place.name)=\(paths.absolute(place.path))\(String(decoding: rules, as: UTF8.self))"
        }
    }

    /// Closes what the caller had open, except the standard streams, the sockets of a service manager, and what the words or
    /// the variables name by its number. A pipe would keep its reader waiting for as long as the service runs, and a lock
    /// would stay locked.
    ///
    /// Call it before anything is opened that stays open.
    static func closeFilesOfCaller(_ environment: [String: String]) {
        SystemCall.closeDescriptors(
            from: 3 + ServiceManager.socketCount(environment),
            keeping: Set((CommandLine.arguments + environment.values).flatMap(descriptors(namedIn:)))
        )
    }

    /// The descriptors that a text names as `/dev/fd/9` or `/proc/self/fd/9`, as shells write them.
    static func descriptors(namedIn text: String) -> [Int32] {
        guard text.contains("/fd/") else { return [] }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        return parts.indices.dropFirst().compactMap { index in
            parts[index - 1] == "fd" ? Int32(parts[index].prefix { $0.isASCII && $0.isNumber }) : nil
        }
    }

    /// Opens roots. Those that do not answer in time are told to `complain`, and join the others later.
    static func open(
        _ places: [WorkerConfiguration.RootPlace],
        complain: @escaping @Sendable (Failure) -> Void
    ) throws(StorageError) -> OpeningRoots {
        let roots = OpeningRoots(
            places.map { .init(name: $0.name, path: $0.path, rules: $0.rules) },
            complain: complain
        )
        try roots.wait()
        return roots
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
    static let rootPlace = ValueType(placeholder: "NAME=PATH[:RULES]", completion: .namedFolders) {
        text throws(Misfit) in
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

extension ValueType where Value == String {
    /// A root that is kept as it was written.
    static let rootWithRules = ValueType(placeholder: "NAME=PATH[:RULES]", completion: .namedFolders) {
        text throws(Misfit) in
        _ = try ValueType<WorkerConfiguration.RootPlace>.rootPlace.read(text)
        return text
    }
}
