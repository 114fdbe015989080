import Console
import FoundationEssentials
import Glibc
import Synchronization
import System

/// The user's configuration file, which holds the contexts.
struct ContextFile: Sendable, Hashable {
    let path: String

    /// Below XDG_CONFIG_HOME, or else below `~/.config`; `nil` if the environment names neither.
    init?(environment: [String: String]) {
        guard let folder = Self.folder(environment) else { return nil }
        path = folder + "/config.json"
    }

    /// The folder of the user's configuration; `nil` if the environment names none.
    static func folder(_ environment: [String: String]) -> String? {
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") { return folder + "/sluice" }
        guard let home = environment["HOME"], home.hasPrefix("/") else { return nil }
        return (home == "/" ? "" : home) + "/.config/sluice"
    }

    private var folder: String { String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]) }

    /// A larger file is not one that this program wrote.
    private static let mostBytes = 1 << 20

    // MARK: - Reading

    /// The contents of the file, and a warning for its owner.
    struct Content: Sendable {
        var book = ContextBook()
        /// What other users may do with the file, if its permissions are too wide.
        var complaint: String?
    }

    /// Reads the file; an empty book if it does not exist.
    func read() throws(Refusal) -> Content {
        // Non-blocking: a pipe in place of the file must not block the command.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            // If a folder of the path is missing, so is the file.
            if errno == ENOENT || errno == ENOTDIR { return Content() }
            throw Self.refusal("read \(path.printable)", errno)
        }
        defer { close(file) }
        var facts = stat()
        guard fstat(file, &facts) == 0 else { throw Self.refusal("read \(path.printable)", errno) }
        guard facts.st_mode & S_IFMT == S_IFREG, facts.st_size <= Self.mostBytes else {
            throw damaged("it is not a regular file of at most 1 MiB")
        }
        var bytes = [UInt8](repeating: 0, count: Self.mostBytes + 1)
        var count = 0
        while count < bytes.count {
            let got = bytes.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress! + count, $0.count - count) }
            if got == 0 { break }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { throw Self.refusal("read \(path.printable)", errno) }
            count += got
        }
        do throws(ContextBook.Damage) {
            let book = try ContextBook(json: Data(bytes.prefix(count)))
            return Content(book: book, complaint: complaint(about: book, mode: facts.st_mode))
        } catch {
            throw damaged(error.why)
        }
    }

    private func complaint(about book: ContextBook, mode: mode_t) -> String? {
        let what: String
        if mode & 0o022 != 0 {
            what = "other users can change \(path.printable), which sets the ledger that your commands use"
        } else if mode & 0o044 != 0, book.contexts.contains(where: \.hasPassword) {
            what = "other users can read \(path.printable), which contains a password"
        } else {
            return nil
        }
        return "\(what); run chmod 600 \(path.printable)"
    }

    private func damaged(_ why: String) -> Refusal {
        Refusal(
            message: "the configuration \(path.printable) is invalid: \(why)",
            hint: "correct the file, or move it away",
            exitCode: .configuration
        )
    }

    private static func refusal(_ operation: String, _ number: Int32) -> Refusal {
        Refusal(
            message: "cannot \(operation): \(systemText(number))",
            exitCode: number == EACCES || number == EPERM ? .permission : .configuration
        )
    }

    // MARK: - Writing

    /// Changes the contents: reads the file, calls `body` and replaces the file, readable by its owner only.
    ///
    /// Concurrent changes wait for each other, so none is lost. A reader sees the old file or the new one, never a
    /// part.
    func change(_ body: (inout ContextBook) throws -> Void) throws {
        try makeFolders()
        let lock = try takeLock()
        defer { close(lock) }
        var book = try read().book
        try body(&book)
        try write(Array(try book.json()))
    }

    private func makeFolders() throws(Refusal) {
        var here = ""
        for part in folder.split(separator: "/") {
            here += "/\(part)"
            if mkdir(here, 0o700) == 0 { continue }
            let number = errno
            if number == EEXIST || access(here, X_OK) == 0 { continue }
            throw Self.refusal("create the folder \(here.printable)", number)
        }
    }

    /// Locks a separate file: a lock on the configuration itself would vanish when the file is replaced.
    private func takeLock() throws(Refusal) -> Int32 {
        let name = folder + "/config.lock"
        let file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Self.refusal("open \(name.printable)", errno) }
        while flock(file, LOCK_EX) != 0 {
            let number = errno
            if number == EINTR { continue }
            close(file)
            throw Self.refusal("lock \(name.printable)", number)
        }
        return file
    }

    private func write(_ bytes: [UInt8]) throws(Refusal) {
        // A symbolic link, as dotfile managers create, stays a link.
        let target = Self.realPath(path) ?? path
        let temporary = "\(target).\(getpid()).new"
        // A leftover of a killed command that had the same process id.
        unlink(temporary)
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Self.refusal("write \(temporary.printable)", errno) }
        var done = 0
        var failure: Int32?
        while done < bytes.count, failure == nil {
            let put = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress! + done, $0.count - done) }
            if put >= 0 { done += put } else if errno != EINTR { failure = errno }
        }
        if failure == nil, fsync(file) != 0 { failure = errno }
        close(file)
        if failure == nil, rename(temporary, target) != 0 { failure = errno }
        guard let failure else { return }
        unlink(temporary)
        throw Self.refusal("write \(target.printable)", failure)
    }

    private static func realPath(_ path: String) -> String? {
        guard let buffer = realpath(path, nil) else { return nil }
        defer { free(buffer) }
        return String(validatingCString: buffer)
    }
}

/// The contexts as one command sees them: read once, at the first use.
///
/// Another command may switch the current context while this one waits for the user's answer. The question and the
/// change that follows must still refer to the same ledger.
final class ContextMemory: Sendable {
    private let environment: [String: String]
    private let warn: @Sendable (String) -> Void
    private let known = Mutex<ContextBook?>(nil)
    /// The presets that the command has looked up.
    let presets: PresetMemory

    init(
        environment: [String: String],
        presets: PresetMemory = PresetMemory(),
        warn: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        (self.environment, self.presets, self.warn) = (environment, presets, warn)
    }

    var file: ContextFile? { ContextFile(environment: environment) }

    func book() throws(Refusal) -> ContextBook {
        if let book = known.withLock({ $0 }) { return book }
        guard let content = try file?.read() else { return ContextBook() }
        known.withLock { $0 = content.book }
        if let complaint = content.complaint { warn(complaint) }
        return content.book
    }
}

extension Invocation {
    /// The contexts of the user's configuration, read once for each run of the program.
    var contexts: ContextMemory { attachment as? ContextMemory ?? ContextMemory(environment: environment) }
}
