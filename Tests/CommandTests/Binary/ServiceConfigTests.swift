import Foundation
import TestSupport
import Testing

/// `sluice.conf`: which commands read it, what it refuses, and how `sluice config` shows it. No ledger is contacted.
struct ServiceConfigTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func write(_ text: String, _ name: String = "sluice.conf") throws -> String {
        try Bytes.write(Array(text.utf8), to: folder.path(name))
        return folder.path(name)
    }

    private func sluice(_ words: String..., environment: [String: String] = [:]) throws -> Run {
        let place = ["XDG_CONFIG_HOME": folder.path, "XDG_DATA_HOME": folder.path("data")]
        return try Sluice.run(words, in: folder, environment: place.merging(environment) { $1 })
    }

    /// The value of a setting of the worker and its origin in one text.
    private func setting(
        _ name: String,
        of command: String = "worker",
        _ words: String...,
        environment: [String: String] = [:]
    ) throws -> String {
        let place = ["XDG_CONFIG_HOME": folder.path, "XDG_DATA_HOME": folder.path("data")]
        let run = try Sluice.run(
            ["config", "show", "--origin", "--json"] + words,
            in: folder,
            environment: place.merging(environment) { $1 }
        )
        for line in try run.checked().outputText.split(separator: "\n").reversed() {
            let record = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let commands = try #require(record["commands"] as? [String])
            guard record["setting"] as? String == name, commands.isEmpty || commands.contains(command) else { continue }
            let origin = [record["origin"], record["file"], record["line"].map { "\($0)" }].compactMap { $0 as? String }
            return ([record["value"] as? String ?? "-"] + origin).joined(separator: " ")
        }
        return "missing"
    }

    @Test(arguments: ["worker", "coordinator", "doctor"])
    func unknownKeysAndWrongValuesAreRefusedByEveryReader(command: String) throws {
        let file = try write("slots = 2\nslot = 3\n")
        let unknown = try sluice(command, "--config", file)
        #expect(unknown.status == .exited(7))
        #expect(unknown.errorText == "error: \(file):2: unknown key \"slot\"; did you mean \"slots\"?\n")
        // The coordinator has no slots, but a mistake in the file must not wait for the worker.
        _ = try write("slots = many\n")
        let wrong = try sluice(command, environment: ["SLUICE_CONFIG": file])
        #expect(wrong.status == .exited(7) && wrong.errorText.hasPrefix("error: \(file):1: slots: must be"))
        let missing = try sluice(command, "--config", folder.path("none"))
        #expect(missing.status == .exited(4) && missing.errorText.contains("No such file or directory"))
    }

    @Test func configShowsEverySettingOfTheFileWithItsLine() throws {
        let file = try write(
            """
            # A worker of the tests
            database = postgresql://sluice:hunter2-very-secret@db/audio
            schema = second
            root = in=/mnt/in:ro
            root = out=/srv/out
            slots = 3

            grace = 2m
            room-memory = 2GiB
            """
        )
        let environment = ["SLUICE_CONFIG": file, "SLUICE_ROOM_MEMORY": "3GiB"]
        #expect(try setting("slots", environment: environment) == "3 file \(file) 6")
        #expect(try setting("root", environment: environment) == "in=/mnt/in:ro, out=/srv/out file \(file) 5")
        #expect(try setting("root", of: "coordinator", environment: environment).hasSuffix("file \(file) 5"))
        #expect(try setting("grace", environment: environment) == "2m file \(file) 8")
        #expect(try setting("room-memory", environment: environment) == "3GiB environment")
        #expect(try setting("in-flight-limit", environment: environment) == "8 default")
        #expect(try setting("database", environment: environment) == "postgresql://sluice@db/audio file \(file) 2")
        #expect(try setting("schema", environment: environment) == "second file \(file) 3")
        #expect(try setting("config", environment: environment) == "\(file) environment")
        // Other commands use the same ledger.
        #expect(try setting("database", of: "jobs", environment: environment).hasSuffix("file \(file) 2"))
        let table = try sluice("config", "show", "--origin", "--config", file).checked().outputText
        #expect(table.contains("\(file):6") && !table.contains("hunter2"))
    }

    @Test func environmentNamesTheLedgerBeforeTheFile() throws {
        let file = try write("database = postgresql://sluice@file/x\n")
        let set = ["SLUICE_CONFIG": file, "SLUICE_DATABASE_URL": "postgresql://sluice@variable/x"]
        #expect(try setting("database", environment: set) == "postgresql://sluice@variable/x environment")
        #expect(try setting("database", environment: ["SLUICE_CONFIG": file]).hasPrefix("postgresql://sluice@file/x"))
    }

    // MARK: - Secrets

    private static let secret = "postgresql://sluice:hunter2-very-secret@db/audio"

    @Test func addressComesFromAFileAndIsNeverShown() throws {
        let secret = try write(Self.secret + "\n", "database")
        let file = try write("database-file = \(secret)\n")
        for run in [
            try sluice("config", "show", "--config", file),
            try sluice("config", "show", "--database-file", secret),
            try sluice("config", "show", environment: ["SLUICE_DATABASE_FILE": secret]),
            try sluice("config", "show", environment: ["CREDENTIALS_DIRECTORY": try credentials()]),
        ] {
            #expect(run.succeeded && run.outputText.contains("postgresql://sluice@db/audio"), "\(run.errorText)")
            #expect(!run.outputText.contains("hunter2"))
        }
        #expect(try setting("database", environment: ["SLUICE_CONFIG": file]).hasSuffix("file \(file) 1"))
        // Users who may not read the address still see the settings.
        try FileManager.default.removeItem(atPath: secret)
        #expect(try setting("database-file", environment: ["SLUICE_CONFIG": file]) == "\(secret) file \(file) 1")
    }

    /// A folder like that which systemd makes for `LoadCredential=sluice.database:...`.
    private func credentials() throws -> String {
        let folder = folder.path("credentials")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Bytes.write(Array(Self.secret.utf8), to: folder + "/sluice.database")
        return folder
    }

    @Test func credentialStandsBetweenTheEnvironmentAndTheFile() throws {
        let file = try write("database = postgresql://sluice@file/x\n")
        var environment = ["SLUICE_CONFIG": file, "CREDENTIALS_DIRECTORY": try credentials()]
        #expect(try setting("database", environment: environment).hasPrefix("postgresql://sluice@db/audio file"))
        environment["PGHOST"] = "elsewhere"
        #expect(try setting("database", environment: environment).hasPrefix("postgresql://elsewhere"))
    }

    @Test func unusableFilesOfAddressesAreNamedWithoutTheirContents() throws {
        let two = try write("\(Self.secret)\n\(Self.secret)\n", "two")
        let none = try sluice("status", "--database-file", try write("\n", "empty"))
        #expect(none.status == .exited(7) && none.errorText.contains("empty must hold one line"))
        let run = try sluice("status", "--database-file", two)
        #expect(run.status == .exited(7) && !run.errorText.contains("hunter2"))
        #expect(try sluice("status", "--database-file", folder.path("none")).status == .exited(4))
        let both = try sluice("status", "--database-file", two, "--database", "host=h")
        #expect(both.status == .exited(2))
        #expect(both.errorText.hasPrefix("error: --database and --database-file cannot be combined\n"))
    }
}
