import Foundation
import TestSupport
import Testing

/// `sluice config show` contacts no ledger and starts nothing.
struct ConfigTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func show(_ words: String..., environment: [String: String] = [:]) throws -> Run {
        try Sluice.run(["config", "show"] + words, in: folder, environment: environment)
    }

    /// The settings with their origins, by name. If several commands have a setting of the same name, the first
    /// one counts.
    private func settings(
        _ words: String...,
        environment: [String: String] = [:]
    ) throws -> [String: [String: Any]] {
        let run = try Sluice.run(
            ["config", "show", "--origin", "--json"] + words,
            in: folder,
            environment: environment
        ).checked()
        var settings: [String: [String: Any]] = [:]
        for line in run.outputText.split(separator: "\n") {
            let record = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let name = try #require(record["setting"] as? String)
            if settings[name] == nil { settings[name] = record }
        }
        return settings
    }

    private static let password = "hunter2-very-secret"

    @Test func passwordsAreNeverShown() throws {
        let url = "postgresql://ada:\(Self.password)@db.example:5433/audio"
        let run = try show("--origin", environment: ["SLUICE_DATABASE_URL": url, "PGSSLPASSWORD": Self.password])
        #expect(run.outputText.contains("postgresql://ada@db.example:5433/audio"))
        for text in [
            run.outputText, run.errorText, try show("--json", "--database", url).outputText,
            try show(environment: ["PGHOST": "h", "PGPASSWORD": Self.password]).outputText,
            try show("--database", "postgresql://ada:\(Self.password)@db:port/x").errorText,
        ] {
            #expect(!text.isEmpty || text == run.errorText)
            #expect(!text.contains(Self.password))
        }
    }

    /// As root, a private cluster needs the account of PostgreSQL; as another user, a home.
    @Test func settingsAreShownWhereNoPrivateClusterIsPossible() throws {
        let show = [Sluice.path, "config", "show", "--json"]
        var words = ["env", "-i"] + show
        if geteuid() == 0 {
            let hide = "grep -v ^postgres: /etc/passwd >passwd; mount --bind passwd /etc/passwd; exec env -i \"$@\""
            words = ["unshare", "--mount", "sh", "-ec", hide, "sh"] + show
        }
        let run = try Run.program(words[0], Array(words.dropFirst()), folder: folder.path)
        #expect(run.succeeded, "\(run.errorText)")
        #expect(run.outputText.contains(#"{"commands":[],"setting":"database"}"#), "\(run.outputText)")
        #expect(run.outputText.contains(#""setting":"queue""#))
    }

    @Test func databaseIsThatOfWhoeverGoesFirst() throws {
        var environment = ["PGHOST": "/run/pg", "PGSSLMODE": "require", "XDG_DATA_HOME": folder.path]
        var database = try #require(try settings(environment: environment)["database"])
        #expect(database["value"] as? String == "postgresql://%2Frun%2Fpg?sslmode=require")
        #expect(database["origin"] as? String == "environment")
        #expect(database["variables"] as? [String] == ["PGHOST", "PGSSLMODE"])
        environment["DATABASE_URL"] = "postgresql://b@second/x"
        database = try #require(try settings(environment: environment)["database"])
        #expect(database["variables"] as? [String] == ["DATABASE_URL", "PGSSLMODE"])
        environment["SLUICE_DATABASE_URL"] = "postgresql://a@first/x"
        database = try #require(try settings(environment: environment)["database"])
        #expect(database["value"] as? String == "postgresql://a@first/x?sslmode=require")
        #expect(database["variables"] as? [String] == ["SLUICE_DATABASE_URL", "PGSSLMODE"])
        database = try #require(
            try settings("--database", "host=zero sslmode=disable", environment: environment)["database"]
        )
        #expect(database["value"] as? String == "postgresql://zero?sslmode=disable")
        #expect(database["origin"] as? String == "option" && database["option"] as? String == "--database")
        #expect(database["variables"] == nil)
    }

    @Test func privateClusterIsNamedAndNotStarted() throws {
        let settings = try settings(environment: ["XDG_DATA_HOME": folder.path])
        let database = try #require(settings["database"])
        #expect(database["origin"] as? String == "cluster")
        #expect(database["variables"] as? [String] == ["XDG_DATA_HOME"])
        #expect(settings["cluster-folder"]?["value"] as? String == folder.path("sluice"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test func optionsGoBeforeVariablesAndTheseBeforeDefaults() throws {
        let url = ["SLUICE_DATABASE_URL": "postgresql://db/x"]
        let bare = try settings(environment: url)
        #expect(bare["schema"]?["value"] as? String == "sluice" && bare["schema"]?["origin"] as? String == "default")
        #expect(bare["on-conflict"]?["value"] as? String == "fail")
        let commands = ["convert", "submit", "join", "mix", "split", "waveform", "wait", "report"]
        #expect(bare["on-conflict"]?["commands"] as? [String] == commands)
        #expect(bare["preset"]?["value"] == nil && bare["preset"]?["origin"] == nil)
        #expect(bare["color"]?["value"] as? String == "auto")
        let said = url.merging([
            "SLUICE_SCHEMA": "second", "SLUICE_ON_CONFLICT": "skip", "SLUICE_PRESET": "podcast-mp3", "NO_COLOR": "1",
        ]) { $1 }
        let chosen = try settings(environment: said)
        for (name, value, variable) in [
            ("schema", "second", "SLUICE_SCHEMA"), ("on-conflict", "skip", "SLUICE_ON_CONFLICT"),
            ("preset", "podcast-mp3", "SLUICE_PRESET"), ("color", "never", "NO_COLOR"),
        ] {
            #expect(chosen[name]?["value"] as? String == value)
            #expect(chosen[name]?["variables"] as? [String] == [variable])
        }
        let first = try settings("--schema", "third", "--color", "always", environment: said)
        #expect(first["schema"]?["value"] as? String == "third" && first["schema"]?["option"] as? String == "--schema")
        #expect(first["color"]?["value"] as? String == "always" && first["color"]?["option"] as? String == "--color")
    }

    @Test func wrongVariableIsRefusedAsByTheCommandThatTakesIt() throws {
        let run = try show(environment: ["SLUICE_DATABASE_URL": "postgresql://db/x", "SLUICE_ON_DAMAGE": "ignore"])
        #expect(
            run.status == .exited(7) && run.errorText.hasPrefix("error: SLUICE_ON_DAMAGE=ignore in the environment")
        )
        #expect(try show(environment: ["SLUICE_DATABASE_URL": "postgresql://db:x/"]).status == .exited(7))
    }

    @Test func recordsKeepTheirNames() throws {
        let run = try show(
            "--origin",
            "--json",
            "--database",
            "postgresql://ada@db/audio",
            environment: ["PGSSLMODE": "require", "SLUICE_SCHEMA": "second"]
        )
        try Golden.expect(run.checked().outputText, is: "config.jsonl")
        let table = try show("--database", "postgresql://ada@db/audio").checked().outputText
        #expect(table.hasPrefix("SETTING") && !table.contains("ORIGIN") && table.contains("\nschema "))
    }
}
