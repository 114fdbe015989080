import Foundation
import TestSupport
import Testing

@testable import Command
@testable import Console

/// The exit codes. The numbers are frozen, and each test makes some command return one of them.
struct ExitCodeTests {
    let material: Material

    init() throws { material = try Material() }

    private func code(_ words: String..., environment: [String: String] = [:]) throws -> Run.Status {
        try Sluice.run(words, in: material.folder, environment: environment).status
    }

    @Test func fiveIsAServiceThatDoesNotAnswer() throws {
        #expect(try code("migrate", "--database", "postgresql:///x?host=/nowhere") == .exited(5))
    }

    @Test func eightIsAWaitThatWasTooLong() async throws {
        let bench = try LedgerBench()
        try await bench.submit(1)
        #expect(try bench.run("wait", "1", "--timeout", "0s").status == .exited(8))
        #expect(try bench.run("wait", "--batch", "1", "--timeout", "0s", "--any").status == .exited(8))
    }

    @Test func zeroIsDone() throws {
        #expect(try code() == .exited(0))
        #expect(try code("--version") == .exited(0))
        #expect(try code("convert", "--help") == .exited(0))
        #expect(try code("convert", "talk.wav", "talk.flac") == .exited(0))
        #expect(try code("probe", "talk.wav") == .exited(0))
    }

    @Test func oneIsAFailure() throws {
        try material.addText()
        #expect(try code("convert", "text.wav", "out.wav") == .exited(1))
        #expect(try code("probe", "text.wav") == .exited(1))
        #expect(try code("convert", "talk.wav", "talk.wav") == .exited(1))
        #expect(try code("convert", "talk.wav", "out.aiff", "--endian", "little") == .exited(1))
    }

    @Test func twoIsWrongUse() throws {
        #expect(try code("covnert") == .exited(2))
        #expect(try code("convert", "--no-such-option") == .exited(2))
        #expect(try code("convert", "talk.wav") == .exited(2))
        #expect(try code("convert", "talk.wav", "out.unknown") == .exited(2))
        #expect(try code("convert", "talk.wav", "out.flac", "--from", "2", "--to", "1") == .exited(2))
        #expect(try code("help", "nothing") == .exited(2))
        #expect(try code("completion", "tcsh") == .exited(2))
    }

    @Test func threeIsDoneInPart() throws {
        #expect(try code("probe", "talk.wav", "missing.wav") == .exited(3))
        try material.addDamaged()
        #expect(try code("probe", "damaged.flac") == .exited(0))
        #expect(try code("probe", "--scan", "damaged.flac") == .exited(3))
        // If nothing succeeds, the first failure determines the code.
        #expect(try code("probe", "missing.wav", "gone.wav") == .exited(4))
    }

    @Test func fourIsNotThere() throws {
        #expect(try code("convert", "missing.wav", "out.wav") == .exited(4))
        #expect(try code("convert", "talk.wav", "missing/out.wav") == .exited(4))
        #expect(try code("convert", "talk.wav", "out.wav", "--track", "7") == .exited(4))
        #expect(try code("presets", "--for", "missing.wav") == .exited(4))
    }

    @Test func sixIsNotAllowed() throws {
        try #require(mkdir(material.path("locked"), 0o555) == 0)
        try #require(chmod(material.path("talk.wav"), 0) == 0)
        for words in [["convert", "talk.wav", "out.wav"], ["probe", "talk.wav"]] {
            let run = try unprivileged(words)
            #expect(run.status == .exited(6))
            #expect(run.errorText.contains("code permission_denied, stage open"))
        }
        try #require(chmod(material.path("talk.wav"), 0o444) == 0)
        let run = try unprivileged(["convert", "talk.wav", "locked/out.wav"])
        #expect(run.status == .exited(6))
        #expect(run.errorText.hasPrefix("error: cannot create locked/out.wav: permission denied [EACCES]\n"))
    }

    private func unprivileged(_ words: [String]) throws -> Run {
        let all = Sluice.withoutPrivilege + [Sluice.path] + words
        return try Run.program(all[0], Array(all.dropFirst()), folder: material.folder.path)
    }

    @Test func sevenIsWrongConfiguration() throws {
        for variable in ["SLUICE_PROGRESS", "SLUICE_ON_CONFLICT", "SLUICE_ON_DAMAGE", "SLUICE_PRESET"] {
            #expect(try code("convert", "talk.wav", "out.wav", environment: [variable: "nonsense"]) == .exited(7))
        }
        #expect(try material.folder.names() == ["talk.wav"])
    }

    @Test func nineIsNothingThatFits() throws {
        #expect(try code("formats", "opsu") == .exited(9))
    }

    @Test(arguments: [(SIGINT, SIGINT, 130), (SIGTERM, SIGTERM, 143), (SIGHUP, SIGTERM, 143)])
    func signalsEndTheProcessByTheSignal(sent: Int32, seen: Int32, number: Int) throws {
        let running = try HalvedWAV().begin(["out.flac"], in: material.folder)
        running.signal(sent)
        try running.ends(with: .signalled(seen))
        #expect(ExitCode(rawValue: Int32(number)) != nil)
    }

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)])
    func shellSees128AndTheSignal(signal: Int32, number: Int) throws {
        let running = try RunningSluice(
            ["-c", "trap : INT TERM; \(Sluice.path) convert - out.flac --progress json; echo $?"],
            in: material.folder,
            program: "bash"
        )
        try running.feed(HalvedWAV().first)
        try running.waitForTalk("\"state\":\"running\"")
        running.signal(signal, wholeGroup: true)
        try running.ends(with: .exited(0))
        #expect(running.outputText == "\(number)\n")
    }

    @Test func documentedTableIsTheCode() throws {
        let text = String(decoding: try Bytes.read(Documentation.path("exit-codes.md")), as: UTF8.self)
        let rows = text.split(separator: "\n").compactMap { line -> String? in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count >= 2, Int(cells[0]) != nil else { return nil }
            return "\(cells[0]) \(cells[1])"
        }
        #expect(rows == ExitCode.allCases.map { "\($0.rawValue) \($0.meaning)" })
    }

    @Test func numbersAreFrozen() {
        #expect(ExitCode.allCases.map(\.rawValue) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 130, 143])
    }
}
