import Console
import Conversion
import Glibc
import Ledger
import System

/// `sluice doctor`: checks the ledger and this machine, and prints how to fix what is wrong.
enum DoctorCommand {
    private static let json = Switch("json", "print a line of JSON for each finding", in: .output)
    private static let user = Option<String>(
        "as",
        .text.named("USER"),
        "check as this user (only the superuser may; its default: sluice)",
        in: .work
    )
    /// The user of the services, where the packages are installed.
    private static let serviceUser = "sluice"

    static let value: Subcommand = Subcommand(
        name: "doctor",
        summary: "check the health of the ledger and of this machine",
        discussion: [
            "Each line is the result of a check. If it is not ok, the next line says what to do. No job and "
                + "no file is changed.",
            "It examines what the services of this machine use: it reads the same --config file, and looks at the roots as "
                + "the user of the services. What the superuser may read and write says nothing about that user.",
            "A root may be a bucket, s3://BUCKET/PREFIX?region=REGION. If --root names it for this command, doctor writes and "
                + "removes objects there, and says which permissions are missing and whether the store keeps two writers apart. "
                + "In buckets of contexts and settings files, and with :ro, it only reads. Workers read sources from buckets.",
            "A root may be on a web server, https://HOST/PATH: doctor says whether it answers, and at the address of a file, "
                + "whether it sends ranges and ETags.",
        ],
        options: [ServiceOptions.root.form, ServiceFile.option.form, user.form] + LedgerOptions.databaseForms
            + [json.form],
        examples: [
            Example(line: "sluice doctor --root archive=/mnt/archive", purpose: "before you start a worker here")
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        let invocation = try ServiceFile.completing(invocation)
        let roots = try LedgerOptions.roots(invocation, mayBeServers: true)
        let ledger = LedgerExamination(
            configuration: try LedgerOptions.configuration(invocation),
            isForServices: try LedgerOptions.place(invocation).machineFile != nil
        )
        // The settings are read before, because the address may come from the caller's own configuration.
        let user = try becomeUser(invocation)
        // The credentials of a bucket lie in the user's folder.
        let home = user.flatMap { getpwnam($0)?.pointee.pw_dir }.map { String(cString: $0) }
        let buckets = BucketExamination(
            environment: invocation.environment,
            home: home,
            areNamed: invocation.origin(of: ServiceOptions.root.form) == .commandLine
        )
        let machine = MachineExamination(roots: roots, user: user, buckets: buckets)
        let result = ForegroundWork.run { () async -> [Finding] in
            await ledger.findings() + (await machine.findings())
        }
        if let signal = result.signal { return signal }
        let findings = (user.map { [.ok("user", "examined as the user \($0.printable)")] } ?? []) + result.value
        for finding in findings {
            if invocation[json] {
                try console.print(JSONText.line(finding))
            } else {
                for line in lines(of: finding, on: console.data) { try console.print(line) }
            }
        }
        return findings.contains { $0.verdict == .fail } ? .failure : .success
    }

    /// Gives up root's rights for those of the user to examine as. Returns its name; `nil` if nothing changed.
    private static func becomeUser(_ invocation: Invocation) throws(Refusal) -> String? {
        let isRoot = geteuid() == 0
        if invocation[user] == nil, !isRoot || ServiceFile.place(invocation) == nil || getpwnam(serviceUser) == nil {
            return nil
        }
        let name = invocation[user] ?? serviceUser
        guard let entry = getpwnam(name)?.pointee else {
            throw Refusal(message: "there is no user \"\(name.printable)\" on this machine", exitCode: .notFound)
        }
        guard entry.pw_uid != geteuid() else { return name }
        guard isRoot else {
            throw Refusal(
                message: "only the superuser may check as another user",
                hint: "sudo sluice doctor",
                exitCode: .permission
            )
        }
        // In this order: without root's rights the groups could not be changed.
        guard initgroups(name, entry.pw_gid) == 0, setgid(entry.pw_gid) == 0, setuid(entry.pw_uid) == 0 else {
            throw Refusal(
                message: "cannot become the user \(name.printable): \(systemText(errno))",
                exitCode: .permission
            )
        }
        // libpq looks for certificates, passwords and services in the user's folder. It fails on the caller's, which this user
        // may not enter, and would then use a connection without encryption.
        guard setenv("HOME", entry.pw_dir, 1) == 0 else {
            throw Refusal(message: "cannot set HOME: \(systemText(errno))", exitCode: .failure)
        }
        return name
    }

    private static func lines(of finding: Finding, on outlet: Outlet) -> [String] {
        let (word, ink): (String, Ink) =
            switch finding.verdict {
            case .ok: ("ok  ", .good)
            case .warn: ("warn", .careful)
            case .fail: ("FAIL", .bad)
            }
        let margin = String(repeating: " ", count: 6)
        func text(_ words: String) -> String {
            let lines = outlet.hasWidth ? words.wrapped(to: max(20, outlet.width - margin.count)) : [words]
            return lines.joined(separator: "\n" + margin)
        }
        let head = outlet.paint(word, ink) + "  " + text("\(finding.subject): \(finding.message)")
        return [head] + (finding.hint.map { [margin + text($0)] } ?? [])
    }
}
