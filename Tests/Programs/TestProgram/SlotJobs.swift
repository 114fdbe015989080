import Conversion
import Dispatch
import Glibc
import PumpRoom
import RoomProgram
import TestSupport

/// A slot, for tests of what happens when its process is killed or stopped, and of what that process holds after
/// thousands of jobs. Also measures what a job costs in a room and without one.
enum SlotJobs {
    private static let usage = """
        usage: test-program slot hold|hold-second SLUICE SOURCE DESTINATION STALL-MILLISECONDS
               test-program slot many|unlocked|here SLUICE SOURCE DESTINATION COUNT
               test-program slot one|one-unlocked SLUICE SOURCE DESTINATION 1
               test-program slot start SLUICE SOURCE DESTINATION COUNT
               test-program slot replace SLUICE SOURCE DESTINATION COUNT
               test-program slot crash SLUICE SOURCE DESTINATION COUNT
        """

    static func run(_ words: [String]) -> Never {
        Task {
            do {
                try await carryOut(words)
            } catch {
                // Ends the process like an error that `main` throws.
                fatalError("\(error)")
            }
            exit(0)
        }
        dispatchMain()
    }

    private static func carryOut(_ words: [String]) async throws {
        guard words.count == 5, let number = Int(words[4]) else {
            say(usage)
            exit(64)
        }
        var configuration = RoomConfiguration()
        configuration.executable = words[1]
        let (source, destination) = (words[2], words[3])
        switch words[0] {
        case "hold", "hold-second":
            configuration.stallLimit = .milliseconds(number)
            let slot = RoomSlot(1, configuration: configuration)
            if words[0] == "hold-second" { try await loseRoom(slot, source, destination) }
            await hold(slot, try Work(source, destination))
        case "start": try await start(configuration, source, destination, number)
        case "replace": try await replace(configuration, source, destination, number)
        case "many", "unlocked":
            if words[0] == "unlocked" { configuration.sandbox = .off }
            // Keep one room, which would otherwise be replaced before anything could accumulate in it.
            configuration.jobsPerRoom = 1_000_000
            try await many(RoomSlot(1, configuration: configuration), source, destination, number)
        case "one", "one-unlocked":
            if words[0] == "one-unlocked" { configuration.sandbox = .off }
            configuration.usualLimits = Recipe.Limits()
            try await one(RoomSlot(1, configuration: configuration), source, destination)
        case "here": try here(source, destination, number)
        case "crash": try await crash(configuration, source, destination, number)
        default: say(usage)
        }
    }

    /// Works until standard input ends, and prints the process id of the room.
    private static func hold(_ slot: RoomSlot, _ work: Work) async {
        let task = Task {
            await slot.run(work.room) { progress in
                if progress.frames > 0 { say("room \(slot.process ?? 0)") }
            }
        }
        let reader = Task.detached {
            while getchar() != EOF {}
            task.cancel()
        }
        say("ended \(code(await task.value))")
        await reader.value
        await slot.close()
    }

    /// Carries out `count` jobs, eight at a time, and prints what the process holds before and after.
    private static func many(_ slot: RoomSlot, _ source: String, _ destination: String, _ count: Int) async throws {
        let lanes = 8
        func run(_ count: Int) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for lane in 0..<lanes {
                    group.addTask {
                        for _ in 0..<count / lanes {
                            let work = try Work(source, "\(destination)\(lane)")
                            let outcome = await slot.run(work.room)
                            guard case .done = outcome else { throw SupportError("convert", code(outcome)) }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        try await run(80)
        let (before, room) = (Holding.now(), slot.process.flatMap { Holding.residentKilobytes($0) })
        let start = ContinuousClock.now
        try await run(count)
        let took = ContinuousClock.now - start
        let (after, roomAfter) = (Holding.now(), slot.process.flatMap { Holding.residentKilobytes($0) })
        say("descriptors \(before.descriptors) \(after.descriptors)")
        say("kilobytes \(before.kilobytes) \(after.kilobytes)")
        say("room-kilobytes \(room ?? 0) \(roomAfter ?? 0)")
        say("microseconds-per-job \(Int(took / .microseconds(1)) / count)")
        await slot.close()
        say("closed \(Holding.now().descriptors)")
    }

    /// Carries out one job in a fresh room.
    private static func one(_ slot: RoomSlot, _ source: String, _ destination: String) async throws {
        let work = try Work(source, destination)
        let start = ContinuousClock.now
        let outcome = await slot.run(work.room)
        guard case .done = outcome else { throw SupportError("convert", code(outcome)) }
        say("microseconds-per-job \(Int((ContinuousClock.now - start) / .microseconds(1)))")
        await slot.close()
    }

    /// Starts `count` rooms, one after another, and prints how much longer the first job in a room
    /// takes than one in a warm room.
    private static func start(
        _ configuration: RoomConfiguration,
        _ source: String,
        _ destination: String,
        _ count: Int
    ) async throws {
        func microseconds(_ slot: RoomSlot) async throws -> Int {
            let work = try Work(source, destination)
            let start = ContinuousClock.now
            let outcome = await slot.run(work.room)
            guard case .done = outcome else { throw SupportError("convert", code(outcome)) }
            return Int((ContinuousClock.now - start) / .microseconds(1))
        }
        for (name, sandbox) in [("locked", RoomSandbox.require), ("unlocked", .off)] {
            var configuration = configuration
            configuration.sandbox = sandbox
            var (cold, warm): ([Int], [Int]) = ([], [])
            for _ in 0..<count {
                let slot = RoomSlot(1, configuration: configuration) { _ in }
                cold.append(try await microseconds(slot))
                warm.append(try await microseconds(slot))
                await slot.close()
            }
            say("\(name)-start-microseconds \(cold.sorted()[count / 2] - warm.sorted()[count / 2])")
        }
    }

    /// Carries out `count` jobs with a new room for each, with and without a fork server, and prints the
    /// processor time for each job.
    private static func replace(
        _ configuration: RoomConfiguration,
        _ source: String,
        _ destination: String,
        _ count: Int
    ) async throws {
        for (name, usesForkServer) in [("forked", true), ("program", false)] {
            var configuration = configuration
            configuration.jobsPerRoom = 1
            configuration.usesForkServer = usesForkServer
            let before = Holding.processorMicroseconds()
            let slot = RoomSlot(1, configuration: configuration)
            for _ in 0..<count {
                let work = try Work(source, destination)
                let outcome = await slot.run(work.room)
                guard case .done = outcome else { throw SupportError("convert", code(outcome)) }
            }
            await slot.close()
            say("\(name)-microseconds-per-room \((Holding.processorMicroseconds() - before) / count)")
        }
    }

    /// Carries out the jobs without a room.
    private static func here(_ source: String, _ destination: String, _ count: Int) throws {
        func run() throws {
            let work = try Work(source, destination)
            _ = try RecipeConversion(work.recipe).run(from: work.source.descriptor, to: work.destination.descriptor)
        }
        for _ in 0..<80 { try run() }
        let start = ContinuousClock.now
        for _ in 0..<count { try run() }
        say("microseconds-per-job \(Int((ContinuousClock.now - start) / .microseconds(1)) / count)")
    }

    /// Kills `count` rooms, each in the middle of a job.
    private static func crash(
        _ configuration: RoomConfiguration,
        _ source: String,
        _ destination: String,
        _ count: Int
    ) async throws {
        func run(_ count: Int) async throws {
            let slot = RoomSlot(1, configuration: configuration)
            for _ in 0..<count { try await loseRoom(slot, source, destination) }
            await slot.close()
        }
        // Warm up: what a runtime opens only once is open after the first crash.
        try await run(1)
        let before = Holding.now()
        try await run(count)
        let after = Holding.now()
        say("descriptors \(before.descriptors) \(after.descriptors)")
        // ECHILD: no child is left to reap.
        say("children \(waitpid(-1, nil, WNOHANG) == -1 && errno == ECHILD ? 0 : 1)")
    }

    /// Kills the slot's room in the middle of a job.
    private static func loseRoom(_ slot: RoomSlot, _ source: String, _ destination: String) async throws {
        let work = try Work(source, destination)
        let outcome = await slot.run(work.room) { _ in
            if let room = slot.process { kill(-room, SIGSEGV) }
        }
        guard code(outcome) == "room_crash" else { throw SupportError("crash", code(outcome)) }
    }

    /// Prints a line unbuffered.
    private static func say(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        precondition(write(1, bytes, bytes.count) == bytes.count, "standard output takes short lines whole")
    }

    private static func code(_ outcome: RoomOutcome<[ConversionReport]>) -> String {
        switch outcome {
        case .done: "converted"
        case .failed(let failure): failure.failure.code
        case .handedBack: "handed_back"
        }
    }
}

/// One job with its open files.
private final class Work: Sendable {
    let room: RoomWork<[ConversionReport]>
    let recipe: Recipe
    let source: OpenFile
    let destination: OpenFile

    init(_ source: String, _ destination: String) throws {
        self.source = try OpenFile.reading(source)
        self.destination = try OpenFile.creating(destination)
        // Concurrent jobs append a digit to the extension, so take the extension only.
        let name = [".opus", ".flac"].first(where: destination.contains).map { "out" + $0 } ?? "out.wav"
        recipe = Recipe(from: .init(location: source), to: .init(location: name))
        room = RoomWork(recipe, from: self.source.descriptor, to: self.destination.descriptor)
    }
}

/// The resources that a process holds.
private struct Holding {
    let descriptors: Int
    let kilobytes: Int

    static func now() -> Holding {
        // More than any program opens by itself; whatever this process always holds is counted both times.
        let count = (0..<1024).filter { fcntl(Int32($0), F_GETFD) >= 0 }.count
        return Holding(descriptors: count, kilobytes: residentKilobytes(getpid()) ?? 0)
    }

    /// The processor time of this process and of its children that have ended.
    static func processorMicroseconds() -> Int {
        [RUSAGE_SELF.rawValue, RUSAGE_CHILDREN.rawValue].reduce(0) { sum, whose in
            var usage = rusage()
            getrusage(whose, &usage)
            return sum + (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1_000_000
                + Int(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
        }
    }

    static func residentKilobytes(_ process: Int32) -> Int? {
        guard let file = fopen("/proc/\(process)/statm", "r") else { return nil }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 128)
        guard fgets(&line, 128, file) != nil else { return nil }
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 4 }
    }
}
