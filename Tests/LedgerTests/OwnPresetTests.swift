import Conversion
import Foundation
import TestSupport
import Testing

@testable import Ledger

/// Presets in the ledger.
struct OwnPresetTests {
    private static func preset(_ name: String = "house", bitRate: Int = 96_000) throws -> OwnPreset {
        let output = Recipe.Output(
            location: OwnPreset.output,
            format: AudioFormat(container: .mp3, codec: .mp3, bitRate: bitRate)
        )
        let recipe = Recipe(from: Recipe.Source(location: OwnPreset.source), to: output)
        return try OwnPreset(PresetReference(name: name), recipe)
    }

    private static func bitRate(_ preset: NamedPreset?) throws -> Int? { try preset?.own().format.bitRate }

    @Test func eachChangeIsAVersion() async throws {
        let ledger = try await LedgerLab().ledger
        #expect(try await ledger.put(Self.preset(bitRate: 96_000)) == 1)
        #expect(try await ledger.put(Self.preset(bitRate: 64_000)) == 2)
        // A repetition, as after a lost answer.
        #expect(try await ledger.put(Self.preset(bitRate: 64_000)) == 2)
        #expect(try await ledger.put(Self.preset(bitRate: 96_000)) == 3)
        let house = PresetReference(name: "house")
        #expect(try await Self.bitRate(ledger.preset(house)) == 96_000)
        let second = try #require(try await ledger.preset(PresetReference(name: "house", version: 2)))
        #expect(try Self.bitRate(second) == 64_000 && second.version == 2 && second.origin == .ledger)
        #expect(try second.own().reference.description == "house@2")
        #expect(try await ledger.preset(PresetReference(name: "house", version: 4)) == nil)
        #expect(try await ledger.presets().map(\.version) == [3])
    }

    @Test func aRemovedPresetKeepsItsNumbers() async throws {
        let ledger = try await LedgerLab().ledger
        _ = try await ledger.put(Self.preset(bitRate: 96_000))
        _ = try await ledger.put(Self.preset(bitRate: 64_000))
        #expect(try await ledger.removePreset("house"))
        #expect(try await !ledger.removePreset("house"))
        #expect(try await ledger.presets().isEmpty)
        #expect(try await ledger.preset(PresetReference(name: "house", version: 2)) == nil)
        #expect(try await ledger.put(Self.preset(bitRate: 64_000)) == 3)
        // The version that was removed does not come back with a new one.
        #expect(try await ledger.preset(PresetReference(name: "house", version: 2)) == nil)
        #expect(try await ledger.preset(PresetReference(name: "house"))?.version == 3)
    }

    @Test func presetsThatWereMadeAgainOutliveTheNumbersOfRemovedOnes() async throws {
        let lab = try await LedgerLab()
        _ = try await lab.ledger.put(Self.preset())
        #expect(try await lab.ledger.removePreset("house"))
        #expect(try await lab.ledger.put(Self.preset()) == 2)
        try await lab.lab.run { connection in
            _ = try connection.execute(
                """
                insert into \(lab.schema).preset (tenant, name, version, recipe, created_at, created_by, removed_at)
                select '', 'old-' || n, 1, '{}', now(), 'x', now() + interval '1 hour' from generate_series(1, 1000) n
                """
            )
        }
        _ = try await lab.ledger.put(Self.preset("voice"))
        #expect(try await lab.ledger.removePreset("voice"))
        #expect(try await lab.ledger.presets().map(\.version) == [2])
        let kept: Int = try await lab.value("select count(*) from \(lab.schema).preset where removed_at is not null")
        #expect(kept == 1_000)
    }

    @Test func aTenantSeesItsOwnFirst() async throws {
        let ledger = try await LedgerLab().ledger
        for name in ["radio", "tv"] { _ = try await ledger.createTenant(name) }
        _ = try await ledger.put(Self.preset(bitRate: 96_000))
        _ = try await ledger.put(Self.preset("voice"))
        #expect(try await ledger.put(Self.preset(bitRate: 64_000), ofTenant: "radio") == 1)
        let radio = try ledger.acting(for: Principal(name: "r", role: .submitter, tenant: "radio"))
        let other = try ledger.acting(for: Principal(name: "t", role: .viewer, tenant: "tv"))
        let house = PresetReference(name: "house")
        #expect(try await Self.bitRate(radio.preset(house)) == 64_000)
        #expect(try await Self.bitRate(other.preset(house)) == 96_000)
        #expect(try await Self.bitRate(ledger.preset(house)) == 96_000)
        #expect(try await Self.bitRate(ledger.preset(house, ofTenant: "radio")) == 64_000)
        #expect(try await radio.presets().map(\.name) == ["house", "voice"])
        #expect(try await radio.presets().map(\.tenant) == ["radio", nil])
        #expect(try await other.presets().map(\.tenant) == [nil, nil])
        let error = try await failure(of: { _ = try await other.presets(ofTenant: "radio") })
        #expect(error.code == .ledgerPermissionDenied)
        #expect(try await ledger.removePreset("house", ofTenant: "radio"))
        #expect(try await Self.bitRate(radio.preset(house)) == 96_000)
    }

    @Test func onlyOperatorsChangePresets() async throws {
        let ledger = try await LedgerLab().ledger
        _ = try await ledger.createTenant("radio")
        _ = try await ledger.put(Self.preset())
        let steward = try ledger.acting(for: Principal(name: "o", role: .operator))
        #expect(try await steward.put(Self.preset(bitRate: 64_000)) == 2)
        for role in [AccessRole.viewer, .submitter] {
            for tenant in [nil, "radio"] {
                let reader = try ledger.acting(for: Principal(name: "x", role: role, tenant: tenant))
                #expect(try await reader.presets().count == 1)
                let put = try await failure(of: { _ = try await reader.put(Self.preset(bitRate: 32_000)) })
                let removal = try await failure(of: { _ = try await reader.removePreset("house") })
                #expect(put.code == .ledgerPermissionDenied && removal.code == .ledgerPermissionDenied)
            }
        }
        let narrow = try ledger.acting(for: Principal(name: "q", role: .operator, queue: "nightly"))
        let error = try await failure(of: { _ = try await narrow.put(Self.preset(bitRate: 32_000)) })
        #expect(error.code == .ledgerPermissionDenied)
    }

    @Test func presetsAreBounded() async throws {
        let lab = try await LedgerLab()
        try await lab.set("presets_per_tenant = 2")
        _ = try await lab.ledger.createTenant("radio")
        for name in ["a", "b"] { _ = try await lab.ledger.put(Self.preset(name)) }
        let error = try await failure(of: { _ = try await lab.ledger.put(Self.preset("c")) })
        #expect(error.detail.contains("too many presets"))
        // Versions and other tenants are counted apart, and a removal makes room.
        #expect(try await lab.ledger.put(Self.preset("b", bitRate: 64_000)) == 2)
        #expect(try await lab.ledger.put(Self.preset("c"), ofTenant: "radio") == 1)
        #expect(try await lab.ledger.removePreset("a"))
        #expect(try await lab.ledger.put(Self.preset("c")) == 1)
        let missing = try await failure(of: { _ = try await lab.ledger.put(Self.preset("d"), ofTenant: "nobody") })
        #expect(missing.sqlState == "P0002")
    }

    @Test func theLastHundredVersionsAreKept() async throws {
        let lab = try await LedgerLab()
        for number in 1...103 { _ = try await lab.ledger.put(Self.preset(bitRate: 32_000 + number)) }
        let count: Int = try await lab.value("select count(*) from \(lab.schema).preset")
        #expect(count == 100)
        #expect(try await lab.ledger.preset(PresetReference(name: "house", version: 3)) == nil)
        #expect(try await Self.bitRate(lab.ledger.preset(PresetReference(name: "house", version: 4))) == 32_004)
    }

    /// For logins that call the function themselves.
    @Test func theLedgerChecksNamesAndSizes() async throws {
        let lab = try await LedgerLab()
        for name in ["House", "", "1a", "a/b", "a@1", String(repeating: "a", count: 51)] {
            let error = try await failure(of: {
                let _: Int = try await lab.value("select \(lab.schema).put_preset(\(name), '{}')")
            })
            #expect(error.sqlState == "22023", "\(name)")
        }
        let long = String(repeating: "x", count: 17_000)
        let error = try await failure(of: {
            let _: Int = try await lab.value(
                "select \(lab.schema).put_preset('a', jsonb_build_object('a', \(long)::text))"
            )
        })
        #expect(error.sqlState == "22023")
        let list = try await failure(of: {
            let _: Int = try await lab.value("select \(lab.schema).put_preset('a', '[]')")
        })
        #expect(list.sqlState == "22023")
    }

    @Test func changesAreWrittenDown() async throws {
        let ledger = try await LedgerLab().ledger
        _ = try await ledger.createTenant("radio")
        for _ in 0..<2 { _ = try await ledger.put(Self.preset(), ofTenant: "radio") }
        _ = try await ledger.removePreset("house", ofTenant: "radio")
        _ = try await ledger.removePreset("house", ofTenant: "radio")
        let rows = try await ledger.audit().filter { $0.what.contains("preset") }
        #expect(rows.map(\.what) == ["remove_preset", "put_preset"])
        #expect(rows[1].details.contains("\"version\": 1") && rows[1].details.contains("\"tenant\": \"radio\""))
    }

    /// The recipe of a submitted job never changes, and earlier jobs with the same format are found.
    @Test func jobsKeepTheirVersion() async throws {
        let lab = try await LedgerLab()
        let (ledger, house) = (lab.ledger, PresetReference(name: "house"))
        _ = try await ledger.put(Self.preset(bitRate: 96_000))
        let first = try #require(try await ledger.preset(house)).own()
        let source = Recipe.Source(location: "in:a.wav")
        let recipe = Recipe(from: source, to: first.output(at: "out:a.mp3"))
        let job = try await ledger.submit(Submission(), [JobRequest(recipe)]).firstJob
        _ = try await ledger.put(Self.preset(bitRate: 64_000))
        _ = try await ledger.removePreset("house")
        let stored = try #require(try await ledger.story(of: job))
        let kept = try Recipe(json: stored.recipe)
        #expect(kept == recipe && kept.outputs[0].ownPreset == PresetReference(name: "house", version: 1))

        var text = RecipeText()
        var other = recipe
        other.outputs[0].ownPreset = PresetReference(name: "studio", version: 7)
        let (work, same) = (try text.work(recipe), try text.work(other))
        other.outputs[0].format?.bitRate = 64_000
        let another = try text.work(other)
        #expect(work == same && work != another)
    }

    @Test func recordsAreReadAsTheyWereWritten() async throws {
        let ledger = try await LedgerLab().ledger
        _ = try await ledger.put(Self.preset())
        let preset = try #require(try await ledger.preset(PresetReference(name: "house")))
        let line = try JSONText.line(JSONRecord(preset))
        let again = try JSONText.read(JSONRecord<NamedPreset>.self, from: Array(line.utf8)).record
        #expect(again.name == "house" && again.version == 1 && again.origin == .ledger)
        #expect(try again.own() == preset.own())
        let listed = try #require(try await ledger.presets().first)
        #expect(try !JSONText.line(JSONRecord(listed)).contains("\"recipe\""))
    }
}
