import Console
import Conversion
import Glibc
import Storage
import System

/// Files in the folders of sources, such as pictures and booklets, that are copied beside the outputs.
struct CompanionFiles: Sendable {
    static let option = Option<String>(
        "copy-files",
        .text.named("GLOBS"),
        "with --wait: copy files such as cover.jpg,*.pdf beside the outputs",
        isRepeatable: true,
        in: .destination
    )

    private struct Copy: Sendable {
        let source: String
        let destination: String
    }

    private let copies: [Copy]
    private let replaces: Bool

    var count: Int { copies.count }

    /// What became of the files.
    struct Outcome {
        var copied = 0
        /// Files that are there already, and are left alone.
        var present = 0
        /// Files whose output folder does not exist.
        var withoutFolder = 0
        var failures: [Failure] = []
    }

    /// Finds the files; `nil` without the option. Throws if a folder is not on this machine, or if two files would become
    /// one: two that are copied, or one of them and an output. No copy replaces a source.
    init?(_ plan: SubmitPlan, _ roots: PathRoots, _ invocation: Invocation) throws {
        let globs = invocation.all(Self.option).flatMap { $0.split(separator: ",").map(String.init) }
        guard !globs.isEmpty else { return nil }
        replaces = invocation[SubmitConflict.option] == .replace
        func path(of location: Location) throws -> String {
            if let path = roots.path(of: location) { return path }
            let message = "--copy-files: \(location) is not on this machine"
            guard !roots.isServer(location.root) else {
                throw Refusal(message: message, hint: "files in buckets and on web servers are not copied")
            }
            throw Refusal(message: message, hint: "name its root with --root, or copy the files on the other machine")
        }
        var folders: [String: Set<String>] = [:]
        var sources: Set<String> = []
        var outputs: Set<String> = []
        for item in plan.items {
            let targets = try item.destinations.map { try path(of: $0) }
            outputs.formUnion(targets)
            for source in item.sources {
                folders[try path(of: source).folder, default: []].formUnion(targets.map(\.folder))
            }
            // A picture that is a cover may be copied, too.
            sources.formUnion(try item.files.map { try path(of: $0) })
        }
        var walk = FolderWalk(filter: NameFilter(includes: globs, excludes: []))
        var origins: [String: String] = [:]
        var copies: [Copy] = []
        for (folder, targets) in folders.sorted(by: { $0.key < $1.key }) {
            for name in try walk.names(in: folder.isEmpty ? "/" : folder) where !sources.contains("\(folder)/\(name)") {
                let source = "\(folder)/\(name)"
                for target in targets.sorted() where target != folder {
                    let destination = "\(target)/\(name)"
                    let isOutput = outputs.contains(destination)
                    if let other = isOutput ? "an output" : origins.updateValue(source, forKey: destination) {
                        let message = "--copy-files: \(other) and \(source) would both become \(destination)"
                        let apart = "tell the folders apart by {dir} in --to"
                        throw Refusal(message: message, hint: isOutput ? "leave the file out of --copy-files" : apart)
                    }
                    copies.append(Copy(source: source, destination: destination))
                }
            }
        }
        let kept = sources.union(plan.sources([]).compactMap(roots.path(of:)))
        self.copies = replaces ? try Self.replacing(copies, besides: kept) : copies
    }

    /// The copies of which none replaces one of `sources`, or a file that is copied itself, by whatever name. Those that are
    /// in their places already, by links, are left out.
    private static func replacing(_ copies: [Copy], besides sources: Set<String>) throws -> [Copy] {
        func identity(_ path: String) -> FileIdentity? { FileFacts.of(path: path, followingLinks: true)?.identity }
        let present = copies.map { identity($0.destination) }
        guard present.contains(where: { $0 != nil }) else { return copies }
        var kept: [FileIdentity: String] = [:]
        for path in sources.union(copies.map(\.source)) {
            if let found = identity(path) { kept[found] = path }
        }
        return try zip(copies, present).compactMap { copy, present in
            guard let present, let source = kept[present] else { return copy }
            if present == identity(copy.source) { return nil }
            throw Refusal(
                message: "--copy-files: \(copy.source) would replace \(source), which is a source or is copied itself",
                hint: "leave the file out of --copy-files, or tell the folders apart by {dir} in --to"
            )
        }
    }

    /// Copies them into the folders that are there, each whole or not at all.
    func copy() -> Outcome {
        var outcome = Outcome()
        for copy in copies {
            guard FileFacts.of(path: copy.destination.folder, followingLinks: true)?.kind == .folder else {
                outcome.withoutFolder += 1
                continue
            }
            do {
                if try copied(copy) { outcome.copied += 1 } else { outcome.present += 1 }
            } catch {
                outcome.failures.append(Failure(of: error))
            }
        }
        return outcome
    }

    /// Returns `false` if the file is there already.
    private func copied(_ copy: Copy) throws -> Bool {
        let source = try SourceFiles.opening([copy.source]) { path throws(StorageError) in try SourceFile.open(path) }
        let preparation = try OutputFile.prepare(
            at: copy.destination,
            onConflict: replaces ? .replace : .skip,
            sources: source.identities,
            mode: .withinSources(source.permissions)
        )
        switch consume preparation {
        case .skipped: return false
        case .ready(let file):
            let bytes = try Self.copyBytes(from: source.descriptors[0], to: file.descriptor, copy)
            guard bytes == source.byteCounts[0], source.areUnchanged else {
                throw Failure(.sourceChanged, at: .publish, "\(copy.source) was changed while it was copied")
            }
            return try file.publish() == .published
        }
    }

    /// Returns how many there are.
    private static func copyBytes(from source: Int32, to target: Int32, _ copy: Copy) throws -> Int64 {
        var block = [UInt8](repeating: 0, count: 1 << 18)
        var copied: Int64 = 0
        while true {
            let count = read(source, &block, block.count)
            if count == 0 { return copied }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure(.sourceIO, "read \(copy.source)") }
            var done = 0
            while done < count {
                let written = block.withUnsafeBytes { bytes in
                    write(target, bytes.baseAddress?.advanced(by: done), count - done)
                }
                if written < 0, errno == EINTR { continue }
                guard written > 0 else { throw failure(.destinationIO, "write \(copy.destination)") }
                done += written
            }
            copied += Int64(count)
        }
    }

    private static func failure(_ code: FailureCode, _ what: String) -> Failure {
        Failure(code, at: .publish, "cannot \(what): \(systemText(errno))")
    }
}

extension String {
    /// The folder of an absolute path, without a slash at its end.
    fileprivate var folder: String {
        utf8.lastIndex(of: UInt8(ascii: "/")).map { String(Substring(utf8[..<$0])) } ?? ""
    }
}
