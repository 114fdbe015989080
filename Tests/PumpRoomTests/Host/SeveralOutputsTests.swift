import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// Jobs with several outputs, in real rooms and in rooms that lie.
@Suite(.timeLimit(.minutes(15))) struct SeveralOutputsTests {
    private let liar: LyingBench

    private var bench: SlotBench { liar.bench }

    init() throws { liar = try LyingBench() }

    /// The recipe for files of these names, and the room's work with them.
    private func work(_ names: [String]) throws -> (
        recipe: Recipe, room: RoomWork<[ConversionReport]>, files: [OpenDescriptor]
    ) {
        let source = try OpenDescriptor(bench.clip, O_RDONLY)
        let files = try names.map { try OpenDescriptor(bench.folder.path($0), O_RDWR | O_CREAT | O_TRUNC) }
        let recipe = Recipe(
            sources: [.init(location: bench.clip)],
            outputs: names.map { .init(location: bench.folder.path($0)) }
        )
        let room = RoomWork(recipe, from: [source.number], to: files.map(\.number))
        return (recipe, room, [source] + files)
    }

    private final class OpenDescriptor: Sendable {
        let number: Int32

        init(_ path: String, _ flags: Int32) throws {
            number = open(path, flags | O_CLOEXEC, 0o600)
            guard number >= 0 else { throw SupportError("open \(path)", errno: errno) }
        }

        deinit { close(number) }
    }

    @Test func eachOutputHasItsReportAndItsBytes() async throws {
        let slot = bench.slot()
        let (_, room, files) = try work(["a.flac", "b.opus", "c.wav"])
        let outcome = await slot.run(room)
        guard case .done(let reports, _) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(reports.map(\.format.codec) == [.flac, .opus, .pcm])
        for (report, name) in zip(reports, ["a.flac", "b.opus", "c.wav"]) {
            let alone = try SlotWork(from: bench.clip, to: bench.folder.path("alone-\(name)"))
            guard case .done(let expected, _) = await slot.run(alone.room) else {
                Issue.record("\(name) alone")
                continue
            }
            #expect([report] == expected)
            #expect(try Bytes.read(bench.folder.path(name)) == Bytes.read(bench.folder.path("alone-\(name)")))
        }
        withExtendedLifetime(files) {}
        await slot.close()
    }

    @Test func outputsWithoutDestinationsAreRefused() async throws {
        let slot = bench.slot()
        let (recipe, _, files) = try work(["a.flac", "b.opus"])
        let short = RoomWork(recipe, from: [files[0].number], to: [files[1].number])
        guard case .failed(let failed) = await slot.run(short) else {
            Issue.record("it was not refused")
            return
        }
        #expect(failed.failure.code == "recipe_refused")
        #expect(failed.failure.message == "the recipe has 2 outputs, but there is room for 1")
        await slot.close()
    }

    @Test(arguments: [
        "convert(job, report)", "wrote(job, report); wrote(job, report); convert(job, report)",
        "wrote(job + 1, report); convert(job, report)",
        "wrote(job, report | {'bytes': 2**62}); convert(job, report)",
    ])
    func aFalseCountOfReportsIsALie(lie: String) async throws {
        let slot = try liar.slot("hello()\njob = begin()\n\(lie)") { $0.obedienceLimit = .milliseconds(500) }
        let (_, room, files) = try work(["a.flac", "b.opus"])
        guard case .failed(let failed) = await slot.run(room) else {
            Issue.record("it was believed")
            return
        }
        #expect(failed.failure.code == "room_protocol")
        #expect(failed.isRoomDeath)
        withExtendedLifetime(files) {}
        await slot.close()
    }

    private static let acx = "{'spec': {'spec': 'acx', 'passes': True, 'measured': \(measured(.acx))}}"
    private static let other = "{'spec': {'spec': 'spotify', 'passes': True, 'measured': \(measured(.spotify))}}"

    /// Credible values for each rule of a spec, as Python writes them.
    private static func measured(_ spec: AudioSpec) -> String {
        let values = spec.rules.map { rule -> String in
            let value = rule.words.first.map { "'word': '\($0)'" } ?? "'value': 0"
            let unit = rule.quantity.unit.map { ", 'unit': '\($0)'" } ?? ""
            return "{'rule': '\(rule.quantity.rawValue)', \(value)\(unit)}"
        }
        return "[\(values.joined(separator: ", "))]"
    }

    /// The second output has the spec `acx`. Only a report that says that this spec accepts it can be true.
    @Test(arguments: [
        ("report", "report | \(acx)", true), ("report", "report", false), ("report", "report | \(other)", false),
        ("report | \(acx)", "report | \(acx)", false), ("report | \(acx)", "report", false),
    ])
    func aSpecThatWasNotAskedForIsALie(first: String, second: String, isTrue: Bool) async throws {
        let script = "hello()\njob = begin()\nwrote(job, \(first)); convert(job, \(second))\nhear()"
        let slot = try liar.slot(script) { $0.obedienceLimit = .milliseconds(500) }
        var (recipe, _, files) = try work(["a.flac", "b.wav"])
        recipe.outputs[1].spec = .acx
        let room = RoomWork(recipe, from: [files[0].number], to: files.dropFirst().map(\.number))
        switch await slot.run(room) {
        case .done: #expect(isTrue)
        case .failed(let failed): #expect(!isTrue && failed.failure.code == "room_protocol" && failed.isRoomDeath)
        case .handedBack: Issue.record("it was released")
        }
        withExtendedLifetime(files) {}
        await slot.close()
    }

    @Test func aReportForEachIsBelieved() async throws {
        let slot = try liar.slot("hello()\njob = begin()\nwrote(job, report); convert(job, report)\nhear()")
        let (_, room, files) = try work(["a.flac", "b.opus"])
        guard case .done(let reports, _) = await slot.run(room) else {
            Issue.record("it was not believed")
            return
        }
        #expect(reports.count == 2)
        withExtendedLifetime(files) {}
        await slot.close()
    }
}
