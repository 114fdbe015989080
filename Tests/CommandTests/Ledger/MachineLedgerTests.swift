import Foundation
import TestSupport
import Testing

/// Commands of people on a machine whose services have a ledger: they use the same one, and start no cluster of their own.
struct MachineLedgerTests {
    private let bench: LedgerBench
    private var folder: TemporaryFolder { bench.folder }

    init() throws { bench = try LedgerBench() }

    private func write(_ text: String, _ name: String) throws -> String {
        try Bytes.write(Array(text.utf8), to: folder.path(name))
        return folder.path(name)
    }

    /// The settings of a machine that names the ledger of the bench.
    private func settings(_ more: String = "") throws -> String {
        let url = try #require(bench.environment["SLUICE_DATABASE_URL"])
        let address = try write(url + "\n", "database")
        return try write("database-file = \(address)\n\(more)", "sluice.conf")
    }

    private func home(_ file: String) -> [String: String] {
        ["SLUICE_CONFIG": file, "XDG_CONFIG_HOME": folder.path("home"), "XDG_DATA_HOME": folder.path("data")]
    }

    private func sluice(_ words: String..., on file: String, as user: [String] = []) throws -> Run {
        let environment = Sluice.environment(home(file))
        let all = user + [Sluice.path] + words
        return try Run.program(all[0], Array(all.dropFirst()), environment: environment, folder: folder.path)
    }

    @Test func commandsUseTheLedgerOfTheServicesAndSayWhy() throws {
        let file = try settings()
        let status = try sluice("status", on: file).checked().outputText
        #expect(try #require(status.split(separator: "\n").first).contains(", from \(file), "), "\(status)")
        #expect(!FileManager.default.fileExists(atPath: folder.path("data")), "no private cluster was made")
    }

    /// A shell that has read the address itself hands it over without a file that others could read.
    @Test(arguments: ["worker --until-idle --database-file /dev/fd/9", "worker --until-idle"])
    func servicesReadTheAddressFromADescriptorOfTheCaller(words: String) throws {
        _ = try settings()
        let line = "exec 7<database 9<database; exec \"$SLUICE\" \(words)"
        let set = ["SLUICE_DATABASE_FILE": "/proc/self/fd/9"]
        try Sluice.shell(line, in: folder, environment: words.contains("fd") ? [:] : set).checked()
    }

    @Test func jobsLieInTheRootsOfTheServices() throws {
        try FileManager.default.createDirectory(atPath: folder.path("pods"), withIntermediateDirectories: true)
        _ = try write("sound", "pods/talk.wav")
        let file = try settings("root = pods=\(folder.path("pods")):ro\nroot = out=\(folder.path("out"))\n")
        try sluice("submit", "pods/talk.wav", "--to", "out:{stem}.mp3", on: file).checked()
        let jobs = try sluice("jobs", "--source", "pods/talk.wav", "--json", on: file).checked().outputText
        #expect(jobs.contains("\"source\":\"pods:talk.wav\""))
    }

    @Test func theSchemaIsThatOfTheServices() throws {
        let run = try sluice("status", on: settings("schema = other\n"))
        #expect(!run.succeeded && run.errorText.contains("other"), "\(run.errorText)")
    }

    @Test func aCurrentContextAndAVariableGoFirst() throws {
        let file = try settings()
        try sluice("config", "set-context", "lab", "--database", "postgresql://lab/audio", on: file).checked()
        try sluice("config", "use", "lab", on: file).checked()
        let table = try sluice("config", "show", on: file).checked().outputText
        #expect(table.contains("lab/audio"), "\(table)")
    }

    @Test func theContextPrivateIsAClusterOfTheUser() throws {
        let table = try sluice("config", "show", "--context", "private", "--origin", on: settings()).checked()
            .outputText
        #expect(table.contains("private cluster"), "\(table)")
    }

    /// The packages name a file that the administrator has yet to write.
    @Test func aMachineThatIsNotSetUpYetLeavesPeopleTheirPrivateCluster() throws {
        let file = try write("database-file = \(folder.path("none"))\n", "sluice.conf")
        let table = try sluice("config", "show", "--origin", on: file).checked().outputText
        #expect(table.contains("private cluster"), "\(table)")
    }

    @Test func anAddressThatOnlyTheServicesMayReadIsNamedWithWhatToDo() throws {
        let file = try settings()
        try #require(chmod(folder.path("database"), 0) == 0)
        let run = try sluice("status", on: file, as: Sluice.withoutPrivilege)
        #expect(run.status == .exited(6))
        #expect(run.errorText.contains("this machine's services have a ledger, but you may not read its address"))
        #expect(run.errorText.contains("sluice config set-context NAME --database URL"))
        #expect(!FileManager.default.fileExists(atPath: folder.path("data")), "no private cluster was made")
        // The settings can still be looked at.
        try sluice("config", "show", on: file, as: Sluice.withoutPrivilege).checked()
    }

    @Test func peopleAskTheCoordinatorThatTheSettingsName() throws {
        let file = try settings("url = http://127.0.0.1:1\n")
        #expect(try sluice("jobs", on: file).errorText.contains("http://127.0.0.1:1"))
        // What needs the database gets it.
        try sluice("migrate", on: file).checked()
    }
}
