import Glibc

/// The log of a part of the private cluster: one file, and a few older ones beside it.
///
/// The supervisor renames a file that has become too long. Its writer still has it open and loses no line: before each line
/// it looks whether the name means another file, and goes on there.
struct PartLog: Sendable {
    let path: String
    /// Bytes after which a new file is begun.
    let limit: Int

    /// Older files that stay: `worker.log.1` is the youngest.
    static let generations = 3
    static let usualLimit = 10_000_000
    /// Smaller logs would be rotated away before a person could read them.
    static let smallestLimit = 4_096

    /// Names the file `.1` if it has reached its limit; the others move up, and the oldest is removed.
    func rotate() {
        var facts = stat()
        guard lstat(path, &facts) == 0, facts.st_size >= limit else { return }
        // Where a rename fails, the log goes on in the file that it has.
        for number in (1..<Self.generations).reversed() { rename("\(path).\(number)", "\(path).\(number + 1)") }
        rename(path, "\(path).1")
    }

    /// Moves this process's standard output and standard error to the file that has the name now, if they are a file.
    func follow() {
        var (open, named) = (stat(), stat())
        guard fstat(STDERR_FILENO, &open) == 0, open.st_mode & S_IFMT == S_IFREG else { return }
        if stat(path, &named) == 0, (named.st_dev, named.st_ino) == (open.st_dev, open.st_ino) { return }
        let file = Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        // Lines then go on where they went before.
        guard file >= 0 else { return }
        dup2(file, STDOUT_FILENO)
        dup2(file, STDERR_FILENO)
        close(file)
    }
}

extension PartLog {
    /// Says to a service which file its standard error is, so that it follows the name.
    static let variable = "SLUICE_LOG_FILE"

    /// The log of this process, where its supervisor has named one.
    init?(environment: [String: String]) {
        guard let path = environment[Self.variable], path.hasPrefix("/") else { return nil }
        self.init(path: path, limit: Self.usualLimit)
    }
}
