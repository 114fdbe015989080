import Conversion
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import PumpRoom
@testable import RoomProgram

/// A slot with rooms that lie: programs that are not ours and speak the protocol over the same socket.
@Suite(.timeLimit(.minutes(15))) struct LyingRoomTests {
    private let liar: LyingBench

    private var bench: SlotBench { liar.bench }
    private var startCount: Int { liar.startCount }

    init() throws { liar = try LyingBench() }

    private func slot(_ script: String, _ change: (inout RoomConfiguration) -> Void = { _ in }) throws -> RoomSlot {
        try liar.slot(script, change)
    }

    @Test func roomThatSpeaksLikeOursIsBelieved() async throws {
        let slot = try slot("hello()\nwhile True:\n    job = begin(); progress(job, 1); convert(job, report)")
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        #expect(startCount == 1)
        await slot.close()
    }

    @Test(arguments: [
        // A century, and nothing.
        ("spent = {'cpuMicroseconds': 3155760000000000, 'peakBytes': 4096}", 0.0...60.0),
        ("end = time.process_time() + 1\nwhile time.process_time() < end: pass", 0.8...60.0),
    ])
    func processorTimeIsWhatTheKernelCounts(_ lie: String, _ seconds: ClosedRange<Double>) async throws {
        let slot = try slot("hello()\njob = begin()\n\(lie)\nconvert(job, report)\nwhile True: hear()")
        guard case .done(_, let cost) = await SlotRun(try bench.short(), in: slot).outcome else {
            Issue.record("the room was not believed")
            return
        }
        let cpu = try #require(cost.cpu)
        let spent: Double = cpu / .seconds(1)
        #expect(seconds.contains(spent))
        await slot.close()
    }

    @Test func roomThatIsNotLockedIsNotUsedWhereItsLockIsRequired() async throws {
        let part = "level = {'sandbox': 'require', 'layers': ['seccomp'], 'missing': [], 'user': 1}"
        let slot = try slot("\(part)\nhello()\njob = begin()\nconvert(job, report)") { $0.sandbox = .require }
        let failure = try #require(await SlotRun(try bench.short(), in: slot).failure)
        #expect(failure.failure.code == "sandbox_unavailable")
        #expect(failure.failure.kind == .infrastructure)
        #expect(slot.level == nil)
        await slot.close()
    }

    @Test func lockThatOneRoomHasIsRequiredOfLaterOnes() async throws {
        let layers = RoomLevel.Layer.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        let script = """
            level = {'sandbox': 'best-effort', 'layers': [\(layers)], 'missing': [], 'user': 1}
            if os.path.getsize(starts) > 1: level['layers'] = ['seccomp']
            hello()
            job = begin(); convert(job, report)
            while True: hear()
            """
        let slot = try slot(script) { $0.jobsPerRoom = 1 }
        #expect(await SlotRun(try bench.short(), in: slot).isConverted)
        let failure = try #require(await SlotRun(try bench.short(), in: slot).failure)
        #expect(failure.failure.code == "sandbox_unavailable")
        await slot.close()
    }

    @Test func partOfALockIsWarnedOfOnce() async throws {
        let part = """
            level = {'sandbox': 'best-effort', 'layers': ['seccomp'], 'user': 1,
                'missing': [{'layer': 'landlock', 'reason': 'not supported by this kernel'}]}
            hello()
            while True: job = begin(); convert(job, report)
            """
        let warnings = Mutex<[String]>([])
        let path = try liar.script(part)
        let slot = RoomSlot(
            1,
            configuration: SlotBench.configuration {
                $0.executable = path
                $0.jobsPerRoom = 1
            },
            warn: { warning in warnings.withLock { $0.append(warning) } }
        )
        for _ in 0..<3 { #expect(await SlotRun(try bench.short(), in: slot).isConverted) }
        #expect(startCount >= 3)
        #expect(
            warnings.withLock { $0 } == [
                "pump rooms are not fully sandboxed: no landlock (not supported by this kernel)"
            ]
        )
        #expect(slot.level?.isComplete == false)
        await slot.close()
    }

    @Test(arguments: [
        "wire.send(b'no JSON')",
        "wire.send(b'{}')",
        "wire.send(b'[' * 100_000)",
        "hello()",
        "wire.send(b' ' * 140_000)",
        "socket.send_fds(wire, [b'{}'], [0])",
        "convert(job + 1, report)",
        "wrote(job, report); convert(job, report)",
        "convert(job, report | {'writtenFrames': report['writtenFrames'] - 1})",
        "convert(job, report | {'bytes': -1})",
        "say({'begun': {'job': job, 'spent': spent}})",
        "say({'begun': {'job': job + 1, 'spent': spent}})",
        "progress(job + 1, 1)",
        "progress(job, -1)",
        "progress(job, 2); progress(job, 1)",
        "say({'converted': {'job': job, '_1': report, '_2': {'cpuMicroseconds': -1, 'peakBytes': 1}}})",
        "fail(job, 'cancelled')",
        "fail(job, 'room_start', kind='infrastructure')",
        "fail(job, 'corrupt_stream', stage='nowhere')",
        "fail(job + 1, 'corrupt_stream')",
        // Its slot permits all formats.
        "fail(job, 'unable', libavName='ape')",
        // Numbers beyond what the job's source, its budget or any sound allows.
        "progress(job, 2**63 - 1)",
        "progress(job, 2**40)",
        "progress(job, 1, total=2**62)",
        "convert(job, report | {'plannedFrames': 2**62, 'writtenFrames': 2**62})",
        "convert(job, report | {'plannedFrames': 2**47, 'writtenFrames': 2**47})",
        "convert(job, report | {'source': report['source'] | {'frames': 2**63 - 1}})",
        "convert(job, report | {'source': report['source'] | {'track': 2**40}})",
        "convert(job, report | {'decodedFrames': 2**63 - 1})",
        "convert(job, report | {'bytes': 2**62})",
        "convert(job, report | {'damage': report['damage'] | {'frames': 2**62}})",
        "convert(job, report | {'format': report['format'] | {'sampleRateHz': 2**40}})",
        "fail(job, 'corrupt_stream', stream=2**40)",
        "fail(job, 'corrupt_stream', stream=-1)",
        "fail(job, 'encode_failed', stage='encode', output=0)",
        "fail(job, 'encode_failed', stage='encode', output=2)",
        "fail(job, 'corrupt_stream', frame=2**62)",
        "fail(job, 'corrupt_stream', position='9223372036854775807/1')",
        "exec('while True: progress(job, 1)')",
        "wire.close(); time.sleep(60)",
    ])
    func roomThatLiesIsKilled(lie: String) async throws {
        // The room's successors lie, too, but they do not get this job.
        let slot = try slot("hello()\njob = begin()\n\(lie)") { $0.obedienceLimit = .milliseconds(500) }
        let failure = try #require(await SlotRun(try bench.short(), in: slot).failure)
        #expect(failure.failure.code == "room_protocol")
        #expect(failure.failure.kind == .transient)
        #expect(failure.isRoomDeath)
        await slot.close()
    }

    /// Each answer is credible, but only for the kind of work that it belongs to.
    @Test(arguments: Kind.allCases, Kind.allCases)
    func answerToOtherWorkIsALie(asked: Kind, answered: Kind) async throws {
        let script = """
            hello()
            asked, message = next(iter(hear().items()))
            say({"begun": {"job": message["job"], "spent": spent}})
            answer = json.loads('''\(try answer(to: answered))''')
            answer[next(iter(answer))]["job"] = message["job"]
            say(answer)
            hear()
            """
        let slot = try slot(script) { $0.obedienceLimit = .milliseconds(500) }
        #expect(try await ending(of: asked, in: slot) == (asked == answered ? "done" : "room_protocol"))
        await slot.close()
    }

    enum Kind: CaseIterable { case convert, measure, probe }

    /// What an honest room answers, as JSON.
    private func answer(to kind: Kind) throws -> String {
        let work = try bench.short("honest.wav")
        let (source, conversion) = (work.source.descriptor, RecipeConversion(work.recipe))
        let spent = WireCost(cpuMicroseconds: 1, peakBytes: 4_096)
        let reply: RoomReply =
            switch kind {
            case .convert:
                .converted(job: 0, try conversion.run(from: source, to: work.destination.descriptor), spent)
            case .measure: .measured(job: 0, try conversion.measure([source]), spent)
            case .probe: .described(job: 0, try SourceProbe(nameHint: "clip.wav").describe(source), spent)
            }
        return String(decoding: try WireCoder().bytes(reply), as: UTF8.self)
    }

    private func ending(of kind: Kind, in slot: RoomSlot) async throws -> String {
        let work = try bench.short()
        return switch kind {
        case .convert: ending(await slot.run(work.room))
        case .measure: ending(await slot.run(RoomWork(measuring: work.recipe, from: [work.source.descriptor])))
        case .probe: ending(await slot.describe(work.source.descriptor))
        }
    }

    /// `done`, `handed back`, or the code of the failure.
    private func ending<Answer>(_ outcome: RoomOutcome<Answer>) -> String {
        switch outcome {
        case .done: "done"
        case .failed(let failure): failure.failure.code
        case .handedBack: "handed back"
        }
    }

    @Test func classOfAFailureIsNotTheRoomsToChoose() async throws {
        let slot = try slot("hello()\nfail(begin(), 'corrupt_stream', kind='infrastructure')\nhear()")
        let failure = try #require(await SlotRun(try bench.short(), in: slot).failure)
        #expect((failure.failure.code, failure.failure.kind) == ("corrupt_stream", .permanent))
        await slot.close()
    }

    @Test func lastWordsAreKeptHoweverMuchWasSaid() async throws {
        let slot = try slot(
            """
            hello()
            job = begin()
            for line in range(200_000): os.write(2, b"line %d\\n" % line)
            os.write(2, b"so it ends")
            os._exit(3)
            """
        )
        let failure = try #require(await SlotRun(try bench.short(), in: slot).failure)
        #expect(failure.failure.code == "room_crash")
        #expect(failure.failure.message.contains("exit status 3"), "\(failure.failure.message)")
        let words = try #require(failure.lastWords)
        #expect(words.utf8.count == 4096)
        #expect(words.hasSuffix("line 199999\nso it ends"))
        await slot.close()
    }

    @Test func roomThatIsNeverReadyFailsThoseWhoWait() async throws {
        let slot = try slot("time.sleep(60)") { $0.startLimit = .milliseconds(500) }
        let failure = try #require(await SlotRun(try bench.short(), in: slot).failure)
        #expect(failure.failure.code == "room_start")
        #expect(failure.failure.message.contains("not ready within 0.5 s"), "\(failure.failure.message)")
        await slot.close()
    }

    @Test(arguments: [
        "os.write(2, b'no, thank you'); os._exit(7)", "say({'hello': {'version': \(wireVersion), 'level': level}})",
    ])
    func roomThatDoesNotStartFailsThoseWhoWait(script: String) async throws {
        let slot = try slot(script)
        let start = ContinuousClock.now
        for count in [3, 4] {
            let failure = try #require(await SlotRun(try bench.short(), in: slot).failure)
            #expect(failure.failure.code == "room_start")
            #expect(failure.failure.kind == .infrastructure)
            #expect(!failure.isRoomDeath)
            if script.contains("exit") {
                #expect(failure.failure.message.contains("exit status 7"))
                #expect(failure.lastWords == "no, thank you")
            }
            // Three starts before the first job fails, then one start for each further job.
            #expect(startCount == count)
        }
        // Pauses of 50, 100 and 200 ms.
        #expect(ContinuousClock.now - start > .milliseconds(350))
        // No job waits, so the slot starts no room. No event shows that: it would start one after 400 ms.
        try await Task.sleep(for: .milliseconds(600))
        #expect(startCount == 4)
        await slot.close()
    }

    /// As after an upgrade of one of the two programs only.
    @Test(arguments: [(wireVersion + 1, SluiceBuild.number), (wireVersion, "9.9\u{1B}[2J")])
    func roomOfAnotherVersionIsNotUsed(version: Int, build: String) async throws {
        let slot = try slot("say({'hello': {'version': \(version), 'build': '\(build)', 'level': level}})\nhear()")
        let failure = try #require(await SlotRun(try bench.short(), in: slot).failure)
        #expect(failure.failure.code == "room_start" && !failure.isRoomDeath)
        let message = failure.failure.message
        #expect(message.contains("(protocol \(version)), and sluice has \(SluiceBuild.number) (protocol"), "\(message)")
        #expect(message == message.plain && failure.failure.hint == RoomExecutable.hint)
        await slot.close()
    }

    @Test func programThatIsNotThereFailsThoseWhoWait() async throws {
        let slot = bench.slot { $0.executable = "/nowhere/sluice" }
        let failure = try #require(await SlotRun(try bench.short(), in: slot).failure)
        #expect(failure.failure.code == "room_start")
        #expect(failure.failure.message.contains("/nowhere/sluice: No such file or directory"))
        await slot.close()
    }

    @Test func jobThatNoRoomBeginsIsHandedBackUnspent() async throws {
        let slot = try slot("hello()\nhear()\nos._exit(1)")
        #expect(await SlotRun(try bench.short(), in: slot).outcome == .handedBack)
        #expect(startCount == 4)
        await slot.close()
    }

    /// The room behaves as if it was stopped between two jobs.
    @Test func jobThatNoRoomAnswersIsHandedBackUnspent() async throws {
        let heard = bench.folder.path("heard")
        let script = "hello()\nhear()\nwith open('\(heard)', 'a') as file: file.write('.')\nhear()"
        let slot = try slot(script) { $0.stallLimit = .milliseconds(500) }
        #expect(await SlotRun(try bench.short(), in: slot).outcome == .handedBack)
        // A busy machine may let half a second pass before a room hears of the job. Such a room is one more.
        #expect(try Bytes.read(heard).count == 4)
        await slot.close()
    }

    @Test func roomIsToldNoPlaces() async throws {
        let slot = try slot(
            """
            hello()
            job = hear()["convert"]
            os.write(2, json.dumps([job["recipe"]["sources"], job["recipe"]["outputs"]]).encode())
            say({"begun": {"job": job["job"], "spent": spent}})
            os._exit(1)
            """
        )
        let failure = try #require(await SlotRun(try bench.short(), in: slot).failure)
        let words = try #require(failure.lastWords)
        #expect(!words.contains("/"))
        #expect(words.contains("source.wav") && words.contains("output.wav"), "\(words)")
        await slot.close()
    }
}
