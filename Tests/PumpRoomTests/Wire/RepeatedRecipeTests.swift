import Conversion
import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// Jobs with the recipe of the job before them are sent without it.
struct RepeatedRecipeTests {
    let lying: LyingBench
    var bench: SlotBench { lying.bench }

    init() throws { lying = try LyingBench() }

    /// A room that writes the kind of each message that it receives to a file, and claims to have converted each job.
    private func listeningSlot(_ change: (inout RoomConfiguration) -> Void = { _ in }) throws -> RoomSlot {
        let script = """
            hello()
            while True:
                request = hear()
                kind = next(iter(request))
                with open("\(bench.folder.path("kinds"))", "a") as file: file.write(kind + " ")
                job = request[kind]["job"]
                say({"begun": {"job": job, "spent": spent}})
                convert(job, report)
            """
        return try lying.slot(script, change)
    }

    private func kinds() throws -> String {
        String(decoding: try Bytes.read(bench.folder.path("kinds")), as: UTF8.self)
    }

    @Test func onlyAnEqualRecipeIsSentOnce() async throws {
        let slot = try listeningSlot()
        for name in ["a.wav", "b.wav", "c.flac", "d.flac", "e.wav", "f.wav"] {
            #expect(await SlotRun(try bench.short(name), in: slot).isConverted, "\(name)")
        }
        #expect(try kinds() == "convert again convert again convert again ")
        await slot.close()
    }

    /// A new room knows no recipe, whatever the one before it was sent.
    @Test func eachRoomIsSentARecipe() async throws {
        let slot = try listeningSlot { $0.jobsPerRoom = 2 }
        for number in 0..<4 { #expect(await SlotRun(try bench.short("\(number).wav"), in: slot).isConverted) }
        #expect(try kinds() == "convert again convert again ")
        await slot.close()
    }

    @Test func roomConvertsByTheRecipeThatItWasSentLast() async throws {
        let slot = bench.slot { $0.inFlightLimit = 1 }
        for name in ["a.wav", "b.wav", "c.flac", "d.flac", "e.wav"] {
            #expect(await SlotRun(try bench.short(name), in: slot).isConverted, "\(name)")
        }
        await slot.close()
        let wave = try Bytes.read(bench.folder.path("a.wav"))
        #expect(try ["b.wav", "e.wav"].allSatisfy { try Bytes.read(bench.folder.path($0)) == wave })
        let flac = try Bytes.read(bench.folder.path("c.flac"))
        #expect(flac.starts(with: "fLaC".utf8))
        #expect(try Bytes.read(bench.folder.path("d.flac")) == flac)
    }

    /// The request of `job` when `last` was sent before it.
    private func request(_ work: SlotWork, after last: Recipe?) -> RoomRequest {
        RoomJob(id: 2, work: work.room, report: { _ in }, finish: { _ in }, ticket: RoomTicket())
            .request(RoomConfiguration(), after: last)
    }

    @Test func everyDifferenceSendsTheRecipe() throws {
        guard case .convert(_, let sent, false, nil) = request(try bench.short(), after: nil) else {
            Issue.record("the first request is no conversion")
            return
        }
        guard case .again(2, false, nil) = request(try bench.short("b.wav"), after: sent) else {
            Issue.record("an equal recipe was sent again")
            return
        }
        let changes: [(inout Recipe) -> Void] = [
            { $0.tags["title"] = "Other" }, { $0.limits = Recipe.Limits(cpuSeconds: 7) }, { $0.verify.toggle() },
            { $0.outputs[0].format = AudioFormat(container: .wav, codec: .pcm, sampleRateHz: 16_000) },
        ]
        for change in changes {
            let work = try bench.short("c.wav", change)
            #expect(request(work, after: sent).newRecipe != nil)
        }
    }

    /// An accent may be part of its letter or follow it. Swift calls such texts equal, but outputs differ.
    @Test func anotherUnicodeFormSendsTheRecipe() throws {
        let changes: [(inout Recipe, String) -> Void] = [
            { $0.tags["artist"] = Recipe.TagValues($1) }, { $0.tags[$1] = "Ada" },
            { $0.outputs[0].tags["artist"] = Recipe.TagValues($1) }, { $0.chapters = [.init(at: .zero, title: $1)] },
        ]
        for change in changes {
            let sent = request(try bench.short { change(&$0, "Ren\u{E9}") }, after: nil).newRecipe
            let same = request(try bench.short("b.wav") { change(&$0, "Ren\u{E9}") }, after: sent)
            #expect(sent != nil && same.newRecipe == nil)
            let other = request(try bench.short("c.wav") { change(&$0, "Rene\u{301}") }, after: sent)
            #expect(other.newRecipe != nil)
        }
    }
}
