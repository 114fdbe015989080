import Glibc

/// The log of one part of the private cluster: a file, and a few older ones beside it.
///
/// The supervisor renames a file that has grown too long. The writer still has it open and loses no line: before
/// each line it checks whether the name now refers to another file, and switches to that one.
package struct PartLog: Sendable {
    let path: String
    /// The size in bytes at which a new file starts.
    let limit: Int

    /// How many older files stay; `worker.log.1` is the newest of them.
    static let generations = 3
    static let usualLimit = 10_000_000
    /// Smaller logs would be rotated away before a person could read them.
    static let smallestLimit = 4_096

    /// Renames the file to `.1` if it has reached its limit, after moving the older ones up. The oldest is
    /// overwritten.
    func rotate() {
        var facts = stat()
        guard lstat(path, &facts) == 0, facts.st_size >= limit else { return }
        // If a rename fails, the log goes on in its present file.
        for number in (1..<Self.generations).reversed() { rename("\(path).\(number)", "\(path).\(number + 1)") }
        rename(path, "\(path).1")
    }

    /// If standard error is a file, points it and standard output at the file that now has the name.
    package func follow() {
        var (open, named) = (stat(), stat())
        guard fstat(STDERR_FILENO, &open) == 0, open.st_mode & S_IFMT == S_IFREG else { return }
        if stat(path, &named) == 0, (named.st_dev, named.st_ino) == (open.st_dev, open.st_ino) { return }
        let file = Glibc.open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        // If it cannot be opened, lines keep going to the old file.
        guard file >= 0 else { return }
        dup2(file, STDOUT_FILENO)
        dup2(file, STDERR_FILENO)
        close(file)
    }
}

extension PartLog {
    /// The variable that names the file behind a service's standard error, so that the service can follow a
    /// rotation.
    static let variable = "SLUICE_LOG_FILE"

    /// The log of this process; `nil` unless the supervisor named one.
    package init?(environment: [String: String]) {
        guard let path = environment[Self.variable], path.hasPrefix("/") else { return nil }
        self.init(path: path, limit: Self.usualLimit)
    }
}
