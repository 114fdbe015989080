import Foundation
import TestSupport
import Testing

/// `sluice config use`, `contexts`, `set-context`, `delete-context`, and the precedence of settings. No ledger is
/// contacted.
struct ContextConfigTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder.create() }

    private func config(_ words: String..., environment: [String: String] = [:]) throws -> Run {
        let place = ["XDG_CONFIG_HOME": folder.path, "XDG_DATA_HOME": folder.path("data")]
        return try Sluice.run(["config"] + words, in: folder, environment: place.merging(environment) { $1 })
    }

    private func config(words: [String]) throws -> Run {
        try Sluice.run(["config"] + words, in: folder, environment: ["XDG_CONFIG_HOME": folder.path])
    }

    private func records(_ words: String..., environment: [String: String] = [:]) throws -> [[String: Any]] {
        let place = ["XDG_CONFIG_HOME": folder.path, "XDG_DATA_HOME": folder.path("data")]
        let run = try Sluice.run(
            ["config"] + words + ["--json"],
            in: folder,
            environment: place.merging(environment) { $1 }
        )
        return try run.checked().outputText.split(separator: "\n").map { line in
            try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    /// The value of a setting and its origin in one text.
    private func setting(_ name: String, _ words: String..., environment: [String: String] = [:]) throws -> String {
        let place = ["XDG_CONFIG_HOME": folder.path, "XDG_DATA_HOME": folder.path("data")]
        let run = try Sluice.run(
            ["config", "show", "--origin", "--json"] + words,
            in: folder,
            environment: place.merging(environment) { $1 }
        )
        for line in try run.checked().outputText.split(separator: "\n") {
            let record = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            guard record["setting"] as? String == name else { continue }
            let value = record["value"] as? String ?? "-"
            let facts = ["origin", "option", "context", "file"].compactMap { record[$0] as? String }
            return ([value] + facts + (record["variables"] as? [String] ?? [])).joined(separator: " ")
        }
        return "missing"
    }

    private func addTwo() throws {
        try config(
            "set-context",
            "prod",
            "--database",
            "postgresql://ada@prod/audio",
            "--root",
            "in=/mnt/in:ro",
            "--root",
            "out=/srv/out",
            "--context-color",
            "red"
        ).checked()
        try config("set-context", "lab", "--database", "host=lab dbname=audio", "--schema", "second").checked()
    }

    // MARK: - Coordinators

    @Test func contextHoldsACoordinator() throws {
        let file = folder.path("token")
        let added = try config("set-context", "radio", "--url", "https://a.example/", "--token-file", "token").checked()
        #expect(added.outputText == "context radio: https://a.example\n")
        let used = try config("use", "radio").checked()
        #expect(used.outputText == "now using context radio: https://a.example\n")
        #expect(try setting("url") == "https://a.example context radio")
        #expect(try setting("token-file") == "\(file) context radio")
        #expect(try setting("database") == "missing" && setting("schema") == "missing")
        #expect(try setting("token-file", "--token-file", "x").hasPrefix("x option"))
        // The variable is for the coordinator of a variable.
        let token = ["SLUICE_TOKEN": "slt_x"]
        #expect(try setting("token", environment: token) == "missing")
        try config("set-context", "radio", "--database", "postgresql://ada@db/audio").checked()
        #expect(try setting("database") == "postgresql://ada@db/audio context radio")
        let record = try #require(records("contexts").first)
        #expect(record["url"] as? String == "https://a.example" && record["tokenFile"] as? String == file)
        #expect(record["database"] as? String == "postgresql://ada@db/audio")
        let list = try config("contexts").checked().outputText
        #expect(list.contains("*  radio  https://a.example  sluice"), "\(list)")
    }

    @Test func contextWithACoordinatorIsChecked() throws {
        for words in [
            ["--token-file", "x"], ["--insecure-http"], ["--url", "ftp://x"], ["--url", "https://me:secret@x"], [],
        ] {
            let refused = try config(words: ["set-context", "radio"] + words)
            #expect(refused.status == .exited(2), "\(words)")
            #expect(!refused.errorText.contains("secret"))
        }
        #expect(try records("contexts").isEmpty)
    }

    // MARK: - Adding, listing, choosing, removing

    @Test func contextsAreAddedListedChosenChangedAndRemoved() throws {
        let empty = try config("contexts").checked()
        #expect(
            empty.outputText == "" && empty.errorText.hasPrefix("no contexts; add one with \"sluice config set-context")
        )
        let added = try config("set-context", "prod", "--database", "postgresql://ada@prod/audio").checked()
        #expect(added.outputText == "context prod: postgresql://ada@prod/audio, schema sluice\n")
        #expect(added.errorText == "use it with \"sluice config use prod\"\n")
        try addTwo()
        let used = try config("use", "lab").checked()
        #expect(used.outputText == "now using context lab: postgresql://lab/audio, schema second\n")
        #expect(used.errorText == "")
        let table = try config("contexts").checked().outputText
        #expect(
            table == """
                   NAME  LEDGER                       SCHEMA  ROOTS
                *  lab   postgresql://lab/audio       second  -
                   prod  postgresql://ada@prod/audio  sluice  in=/mnt/in:ro, out=/srv/out

                """
        )
        let list = try records("contexts")
        #expect(list.map { $0["context"] as? String } == ["lab", "prod"])
        #expect(list.map { $0["isCurrent"] as? Bool } == [true, false])
        #expect(
            list[1]["roots"] as? [String] == ["in=/mnt/in:ro", "out=/srv/out"] && list[1]["color"] as? String == "red"
        )
        // Settings that the command does not mention stay unchanged.
        try config("set-context", "prod", "--schema", "third").checked()
        try config("set-context", "prod", "--root", "all=/").checked()
        let prod = try records("contexts")[1]
        #expect(prod["database"] as? String == "postgresql://ada@prod/audio" && prod["schema"] as? String == "third")
        #expect(prod["roots"] as? [String] == ["all=/"] && prod["color"] as? String == "red")
        let current = try config("delete-context", "lab")
        #expect(current.status == .exited(1) && current.errorText.hasPrefix("error: lab is the current context\n"))
        #expect(try config("use", "--none").checked().outputText == "now using no context\n")
        try config("delete-context", "lab").checked()
        #expect(try records("contexts").count == 1)
    }

    @Test func rootsAreWrittenDownWithWholePaths() throws {
        try config("set-context", "a", "--database", "host=h", "--root", "pods=in/../pods:ro").checked()
        #expect(try records("contexts")[0]["roots"] as? [String] == ["pods=\(folder.path)/pods:ro"])
    }

    /// Version 0.1.0 takes absolute paths only as roots, and refuses the whole file for another one.
    @Test func bucketsAreNotAmongTheRootsThatEarlierVersionsRead() throws {
        let roots = ["--root", "archive=s3://bucket/p?region=eu-west-1:ro", "--root", "out=/srv/out"]
        try config(words: ["set-context", "a", "--database", "host=h"] + roots).checked()
        let all = ["out=/srv/out", "archive=s3://bucket/p?region=eu-west-1:ro"]
        #expect(try records("contexts")[0]["roots"] as? [String] == all)
        let bytes = try Bytes.read(folder.path("sluice/config.json"))
        let file = try #require(JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        let context = try #require((file["contexts"] as? [String: [String: Any]])?["a"])
        #expect(context["roots"] as? [String] == ["out=/srv/out"])
        #expect(context["buckets"] as? [String] == ["archive=s3://bucket/p?region=eu-west-1:ro"])
        try config("set-context", "a", "--root", "all=/").checked()
        #expect(try records("contexts")[0]["roots"] as? [String] == ["all=/"])
    }

    @Test func unknownNamesAreRefusedWithWhatThereIs() throws {
        try addTwo()
        for words in [["use", "prdo"], ["delete-context", "prdo"], ["show", "--context", "prdo"]] {
            let run = try Sluice.run(["config"] + words, in: folder, environment: ["XDG_CONFIG_HOME": folder.path])
            #expect(run.status == .exited(4))
            #expect(
                run.errorText
                    == "error: unknown context \"prdo\"; did you mean \"prod\"?\nhint:  known contexts: lab, prod\n"
            )
        }
        let variable = try config("show", environment: ["SLUICE_CONTEXT": "elsewhere"])
        #expect(variable.status == .exited(7))
        #expect(
            variable.errorText.hasPrefix("error: SLUICE_CONTEXT in the environment: unknown context \"elsewhere\"")
        )
    }

    @Test(arguments: ["$(id)", "a b", "-x", "\u{1B}[31mred", "a\nb", "..", "a/b", ""])
    func hostileNamesAreRefused(name: String) throws {
        for words in [
            ["set-context", "--database", "host=h", "--", name], ["use", "--", name], ["delete-context", "--", name],
        ] {
            let run = try Sluice.run(["config"] + words, in: folder, environment: ["XDG_CONFIG_HOME": folder.path])
            #expect([.exited(2), .exited(4)].contains(run.status), "\(words)")
            #expect(!run.errorText.contains("\u{1B}"))
        }
        let option = try config("show", "--context=\(name)")
        #expect(option.status == .exited(2) && !option.errorText.contains("\u{1B}"))
        #expect(try folder.names().isEmpty || records("contexts").isEmpty)
    }

    @Test func wordsThatDoNotFitChangeNothing() throws {
        try addTwo()
        let before = try Bytes.read(folder.path("sluice/config.json"))
        for words in [
            ["use"], ["use", "prod", "--none"], ["set-context", "new"],
            ["set-context", "new", "--database", "nonsense://x"],
            ["set-context", "new", "--database", "host=h", "--root", "x"],
            ["set-context", "new", "--database", "host=h", "--root", "a=/x", "--root", "a=/y"],
            ["set-context", "new", "--database", "host=h", "--root", "a/b=/x"],
            ["set-context", "new", "--database", "host=h", "--context-color", "beige"],
            ["set-context", "new", "--context", "prod"], ["use", "prod", "--database", "host=h"],
            ["contexts", "--schema", "x"],
        ] {
            let run = try Sluice.run(["config"] + words, in: folder, environment: ["XDG_CONFIG_HOME": folder.path])
            #expect([.exited(2), .exited(7)].contains(run.status), "\(words): \(run.errorText)")
        }
        // A variable says where commands go at the moment; the command does not store it.
        let variable = try config("set-context", "new", environment: ["SLUICE_DATABASE_URL": "postgresql://db/x"])
        #expect(variable.status == .exited(2) && variable.errorText.contains("needs an address"))
        #expect(try Bytes.read(folder.path("sluice/config.json")) == before)
    }

    @Test func passwordsAreKeptAndNeverShown() throws {
        let password = "hunter2-very-secret"
        let url = "postgresql://ada:\(password)@db/audio"
        var runs = [try config("set-context", "prod", "--database", url), try config("use", "prod")]
        runs += [try config("contexts"), try config("contexts", "--json"), try config("show", "--origin")]
        try #require(chmod(folder.path("sluice/config.json"), 0o644) == 0)
        let open = try config("show")
        #expect(
            open.errorText.hasPrefix(
                "note:  other users can read \(folder.path)/sluice/config.json, which contains a password"
            )
        )
        // The remark appears once.
        #expect(open.errorText.split(separator: "\n").count == 1)
        for run in runs + [open] {
            #expect(run.succeeded && !run.outputText.contains(password) && !run.errorText.contains(password))
        }
        #expect(String(decoding: try Bytes.read(folder.path("sluice/config.json")), as: UTF8.self).contains(password))
    }

    // MARK: - Precedence

    @Test func optionsGoBeforeVariablesAndTheseBeforeTheCurrentContext() throws {
        try addTwo()
        let file = folder.path("sluice/config.json")
        #expect(try setting("context") == "-")
        #expect(try setting("database").hasSuffix("cluster XDG_DATA_HOME"))
        try config("use", "lab").checked()
        #expect(try setting("context") == "lab file \(file)")
        #expect(try setting("database") == "postgresql://lab/audio context lab")
        #expect(try setting("schema") == "second context lab")
        // PostgreSQL's own variables fill in what the address leaves open.
        #expect(try setting("database", environment: ["PGSSLMODE": "require"]).hasSuffix("context lab PGSSLMODE"))
        var environment = ["PGHOST": "elsewhere"]
        #expect(try setting("database", environment: environment) == "postgresql://elsewhere environment PGHOST")
        environment["DATABASE_URL"] = "postgresql://b@second/x"
        #expect(
            try setting("database", environment: environment).hasPrefix(
                "postgresql://b@second/x environment DATABASE_URL"
            )
        )
        environment["SLUICE_DATABASE_URL"] = "postgresql://a@first/x"
        #expect(
            try setting("database", environment: environment).hasPrefix(
                "postgresql://a@first/x environment SLUICE_DATABASE_URL"
            )
        )
        #expect(try setting("context", environment: environment) == "-")
        environment["SLUICE_CONTEXT"] = "prod"
        #expect(try setting("context", environment: environment) == "prod environment SLUICE_CONTEXT")
        #expect(try setting("database", environment: environment) == "postgresql://ada@prod/audio context prod")
        #expect(try setting("context", "--context", "lab", environment: environment) == "lab option --context")
        #expect(
            try setting("database", "--context", "lab", environment: environment)
                == "postgresql://lab/audio context lab"
        )
        let option = try setting("database", "--database", "host=zero dbname=x", environment: environment)
        #expect(option == "postgresql://zero/x option --database")
        #expect(try setting("context", "--database", "host=zero", environment: environment) == "-")
        // Empty variables count as unset.
        let empty = ["SLUICE_CONTEXT": "", "SLUICE_DATABASE_URL": "", "DATABASE_URL": "", "PGHOST": ""]
        #expect(try setting("context", environment: empty) == "lab file \(file)")
    }

    @Test func twoAnswersToOneQuestionAreRefused() throws {
        try addTwo()
        let run = try config("show", "--context", "lab", "--database", "host=zero")
        #expect(
            run.status == .exited(2) && run.errorText.hasPrefix("error: --database and --context cannot be combined\n")
        )
    }

    @Test func schemaGoesWithTheLedgerThatWasNamed() throws {
        try addTwo()
        let variable = ["SLUICE_SCHEMA": "from_variable"]
        // A variable does not redirect a context that was named explicitly.
        #expect(try setting("schema", "--context", "prod", environment: variable) == "sluice context prod")
        #expect(
            try setting("schema", environment: variable.merging(["SLUICE_CONTEXT": "lab"]) { $1 })
                == "second context lab"
        )
        let option = try setting("schema", "--context", "prod", "--schema", "fourth", environment: variable)
        #expect(option == "fourth option --schema")
        #expect(
            try setting("schema", "--database", "host=h", environment: variable)
                == "from_variable environment SLUICE_SCHEMA"
        )
        try config("use", "lab").checked()
        #expect(try setting("schema", environment: variable) == "from_variable environment SLUICE_SCHEMA")
    }

    @Test func variableThatGoesBeforeTheCurrentContextIsRemarked() throws {
        try addTwo()
        let used = try config("use", "prod", environment: ["PGUSER": "ada"]).checked()
        #expect(used.errorText == "note:  PGUSER is set in the environment and overrides the current context\n")
        #expect(try config("use", "prod", environment: ["PGSSLMODE": "require"]).errorText == "")
    }

    @Test func rootsOfTheContextAreShownWithTheCommandsThatTakeThem() throws {
        try addTwo()
        #expect(try setting("root") == "missing")
        #expect(try setting("root", "--context", "prod") == "in=/mnt/in:ro, out=/srv/out context prod")
        let table = try config("show", "--context", "prod").checked().outputText
        #expect(table.contains("submit, doctor, check, scan, worker, coordinator"))
    }

    @Test func damagedConfigurationStopsOnlyWhatNeedsIt() throws {
        try FileManager.default.createDirectory(atPath: folder.path("sluice"), withIntermediateDirectories: true)
        try Bytes.write(Array("{".utf8), to: folder.path("sluice/config.json"))
        #expect(try config("show").status == .exited(7))
        #expect(try config("show", "--database", "host=h").succeeded)
        #expect(try config("show", environment: ["SLUICE_DATABASE_URL": "host=h"]).succeeded)
    }
}
