import Console
import Glibc
import System

/// The file with the settings of the services of a machine, `sluice.conf`.
enum ServiceFile {
    static let option = Option<String>(
        "config",
        .file,
        "the file with the settings of this machine's services",
        environment: "SLUICE_CONFIG",
        in: .work
    )
    static let standardPath = "/etc/sluice/sluice.conf"

    /// The options that a line of the file may set: those of both services, so that both can read the same file, and the
    /// coordinator that people on this machine ask. Switches are left out, because they concern one run and not the
    /// machine.
    static var forms: [OptionForm] {
        let left = [option.form.name, LedgerOptions.context.form.name]
        var names = Set(left)
        return (WorkerCommand.value.options + CoordinatorCommand.value.options + [LedgerOptions.url.form]).filter {
            !$0.isSwitch && names.insert($0.name).inserted
        }
    }

    /// The names of the commands that read the file.
    static let readers = [WorkerCommand.value, CoordinatorCommand.value, DoctorCommand.value].map(\.name)

    /// The file to read and what named it; `nil` if none is named and the standard one does not exist.
    static func place(_ invocation: Invocation) -> (path: String, origin: Invocation.Origin)? {
        if let path = invocation[option] {
            return (path, invocation.origin(of: option.form) ?? .commandLine)
        }
        return place(invocation.environment)
    }

    private static func place(_ environment: [String: String]) -> (path: String, origin: Invocation.Origin)? {
        if let variable = option.form.environment, let path = named(environment) {
            return (path, .environment(variable: variable))
        }
        return access(standardPath, F_OK) == 0 ? (standardPath, .fallback) : nil
    }

    /// The file that a variable names; `nil` if none does.
    static func named(_ environment: [String: String]) -> String? {
        guard let variable = option.form.environment, let path = environment[variable], !path.isEmpty else {
            return nil
        }
        return path
    }

    /// Reads the file that a variable names, or else the standard one; `nil` if there is none.
    static func read(_ environment: [String: String]) throws -> SettingsFile? {
        try place(environment).map { try read(at: $0.path) }
    }

    /// Reads the file; `nil` if there is none.
    static func read(_ invocation: Invocation) throws -> SettingsFile? {
        try place(invocation).map { try read(at: $0.path) }
    }

    static func read(at path: String) throws -> SettingsFile {
        try SettingsFile(path: path, text: SmallFile.read(path, for: "the configuration"), forms: forms)
    }

    /// The invocation with the settings of the file below those of the command line and the environment.
    static func completing(_ invocation: Invocation) throws -> Invocation {
        guard let file = try read(invocation) else { return invocation }
        return completing(invocation, from: file)
    }

    /// Without the URL, which is for other commands: a service needs the database.
    static func completing(_ invocation: Invocation, from file: SettingsFile) -> Invocation {
        invocation.filled(from: file, besides: [LedgerOptions.url.form])
    }
}

/// A text file of a megabyte at most.
enum SmallFile {
    /// Reads the file, which `purpose` describes in messages. One that must be `isTrusted` is refused if another user can
    /// have changed it.
    static func read(_ path: String, for purpose: String, isTrusted: Bool = false) throws(Refusal) -> String {
        func refusal(_ number: Int32) -> Refusal {
            let code: ExitCode =
                switch number {
                case ENOENT, ENOTDIR: .notFound
                case EACCES, EPERM: .permission
                default: .configuration
                }
            return Refusal(
                message: "cannot read \(path.printable), \(purpose): \(systemText(number))",
                hint: code == .permission ? "run the command as root or as the user of the service" : nil,
                exitCode: code
            )
        }
        // Non-blocking: a pipe in place of the file must not block the command.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw refusal(errno) }
        defer { close(file) }
        if isTrusted, let fault = fault(of: file) {
            throw Refusal(
                message: "\(path.printable), \(purpose), is refused: \(fault.why)",
                hint: "run \(fault.remedy) \(ShellWord.quoted(path).printable)",
                exitCode: .configuration
            )
        }
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65_536)
        while true {
            let got = Glibc.read(file, &part, part.count)
            if got == 0 { break }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { throw refusal(errno) }
            bytes += part.prefix(got)
            guard bytes.count <= 1 << 20 else { throw refusal(EFBIG) }
        }
        guard let text = String(validating: bytes, as: UTF8.self), !text.utf8.contains(0) else {
            throw Refusal(
                message: "\(path.printable), \(purpose), is not a text file in UTF-8",
                exitCode: .configuration
            )
        }
        return text
    }

    /// Why another user than root and this one can have changed an open file; `nil` if none can.
    private static func fault(of file: Int32) -> (why: String, remedy: String)? {
        var facts = stat()
        guard fstat(file, &facts) == 0 else { return nil }
        if facts.st_uid != 0, facts.st_uid != geteuid() {
            return ("it belongs to another user", "chown \(geteuid() == 0 ? "root" : "$USER")")
        }
        return facts.st_mode & 0o022 == 0 ? nil : ("other users can change it", "chmod go-w")
    }
}
