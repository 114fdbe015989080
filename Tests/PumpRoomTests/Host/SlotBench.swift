import Conversion
import Foundation
import Synchronization
import TestSupport

@testable import PumpRoom

/// Sources, destinations and settings for slots, in a separate folder.
final class SlotBench: Sendable {
    let folder: TemporaryFolder
    /// A tone of half a second.
    let clip: String
    /// Six hours of silence: a sparse file that needs no disk space, and takes minutes to convert.
    let endless: String
    /// Children that other suites in this process have started and keep.
    private let others: Set<Int32>

    init() throws {
        others = try ProcessFacts.children()
        folder = try TemporaryFolder.create()
        clip = folder.path("clip.wav")
        endless = folder.path("endless.wav")
        try WAVFile.write(Signal.tone(440, rate: 8_000, frames: 4_000).pcm(.s16), to: clip)
        let empty = Signal.tone(440, rate: 44_100, frames: 0, channels: 2).pcm(.s16)
        let size: UInt32 = 3_900_000_000
        let header = try WAVFile.bytes(empty, options: .init(claimedDataSize: size))
        try Bytes.write(header, to: endless)
        guard truncate(endless, off_t(header.count) + off_t(size)) == 0 else {
            throw SupportError("make \(endless)", errno: errno)
        }
    }

    static let program = BuiltProgram.path("sluice-room")

    static func configuration(_ change: (inout RoomConfiguration) -> Void = { _ in }) -> RoomConfiguration {
        var configuration = RoomConfiguration()
        configuration.executable = program
        // On a busy machine a room may obey late.
        configuration.obedienceLimit = .seconds(30)
        change(&configuration)
        return configuration
    }

    /// A slot whose rooms are processes of the built program.
    func slot(_ change: (inout RoomConfiguration) -> Void = { _ in }) -> RoomSlot {
        RoomSlot(1, configuration: Self.configuration(change))
    }

    /// A slot whose rooms a test can inspect in /proc. Only root can do that if they are locked.
    func visibleSlot(_ change: (inout RoomConfiguration) -> Void = { _ in }) -> RoomSlot {
        slot {
            if geteuid() != 0 { $0.sandbox = .off }
            change(&$0)
        }
    }

    /// The processes that slots have started, including zombies.
    func family() throws -> Set<Int32> { try ProcessFacts.children().subtracting(others) }

    /// Converts the clip to WAV.
    func short(_ name: String = "out.wav", _ change: (inout Recipe) -> Void = { _ in }) throws -> SlotWork {
        try SlotWork(from: clip, to: folder.path(name), change)
    }

    /// Work that takes longer than any test waits.
    func long(_ change: (inout Recipe) -> Void = { _ in }) throws -> SlotWork {
        try SlotWork(from: endless, to: folder.path("long.opus"), change)
    }
}

/// One job with its open files.
final class SlotWork: Sendable {
    let room: RoomWork<[ConversionReport]>
    let recipe: Recipe
    let source: OpenFile
    let destination: OpenFile

    init(from source: String, to destination: String, _ change: (inout Recipe) -> Void = { _ in }) throws {
        self.source = try OpenFile.reading(source)
        self.destination = try OpenFile.creating(destination)
        var recipe = Recipe(from: .init(location: source), to: .init(location: destination))
        change(&recipe)
        self.recipe = recipe
        room = RoomWork(recipe, from: self.source.descriptor, to: self.destination.descriptor)
    }
}

/// A job in progress in a slot, and what the test has learned of it.
final class SlotRun: Sendable {
    private let task: Task<RoomOutcome<[ConversionReport]>, Never>
    private let frames: AsyncStream<ConversionProgress>
    private let work: SlotWork
    private let struck = Struck()

    private final class Struck: Sendable {
        let room = Mutex<Int32?>(nil)
    }

    /// The room that received the signal.
    var struckRoom: Int32? { struck.room.withLock { $0 } }

    /// Starts the job. When frames first move, sends `signal` to its room's process group, from the slot's thread,
    /// so that no time limit can expire before.
    init(
        _ work: SlotWork,
        in slot: RoomSlot,
        signal: Int32? = nil,
        sourceBytes: Int64? = nil,
        endsRoom: Bool = false
    ) {
        let (stream, continuation) = AsyncStream<ConversionProgress>.makeStream()
        (self.work, frames) = (work, stream)
        let struck = struck
        var wanted = work.room
        (wanted.sourceBytes, wanted.endsRoom) = (sourceBytes, endsRoom)
        task = Task { [wanted] in
            let outcome = await slot.run(wanted) { progress in
                // A caller that waits for progress can rely on the signal having been sent.
                defer { continuation.yield(progress) }
                guard let signal, progress.frames > 0, let room = slot.process else { return }
                struck.room.withLock { struckRoom in
                    guard struckRoom == nil else { return }
                    struckRoom = room
                    if signal == SIGSTOP { ProcessFacts.stop(group: room) } else { kill(-room, signal) }
                }
            }
            continuation.finish()
            return outcome
        }
    }

    /// Waits until frames move; `nil` if the job ends before.
    func progress() async -> ConversionProgress? { await frames.first { $0.frames > 0 } }

    func cancel() { task.cancel() }

    var outcome: RoomOutcome<[ConversionReport]> { get async { await task.value } }

    var failure: RoomFailure? {
        get async {
            guard case .failed(let failure) = await task.value else { return nil }
            return failure
        }
    }

    var isConverted: Bool {
        get async {
            guard case .done = await task.value else { return false }
            return true
        }
    }
}

/// Facts about processes, from /proc.
enum ProcessFacts {
    /// Whether the process runs, sleeps or is stopped. A zombie counts as gone.
    static func isAlive(_ process: Int32) -> Bool {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
            let end = text.lastIndex(of: ")")
        else { return false }
        return !["Z", "X"].contains(text[end...].dropFirst(2).prefix(1))
    }

    /// Stops a process group, and returns when its first process has stopped. The kernel stops it when it next
    /// runs the thread that takes the signal. Until then the other threads go on, and may even obey an order
    /// that was sent after the signal.
    static func stop(group: Int32) {
        guard kill(-group, SIGSTOP) == 0 else { return }
        // The kernel reports a stop only to the parent, which the fork server may be; /proc sends no events.
        while isAlive(group), !hasStopped(group) { sched_yield() }
    }

    private static func hasStopped(_ process: Int32) -> Bool {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")) ?? []
        return threads.allSatisfy { thread in
            // A thread that has ended in the meantime does nothing more.
            guard let text = try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/stat", encoding: .utf8),
                let end = text.lastIndex(of: ")")
            else { return true }
            return ["T", "t", "Z", "X"].contains(text[end...].dropFirst(2).prefix(1))
        }
    }

    static func isThere(_ process: Int32) -> Bool { kill(process, 0) == 0 }

    /// The children of all its threads, including zombies.
    static func children(of process: Int32 = getpid()) throws -> Set<Int32> {
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")
        let lists = threads.map { thread in
            // A thread may end during this loop. Its children have then ended, or belong to another thread.
            (try? String(contentsOfFile: "/proc/\(process)/task/\(thread)/children", encoding: .utf8)) ?? ""
        }
        return Set(lists.flatMap { $0.split(separator: " ").compactMap { Int32($0) } })
    }

    /// Waits until the process has ended. Returns false after 200 seconds.
    static func waitForEnd(of process: Int32) -> Bool { ProcessEnd(of: process).wait(until: .now + .seconds(200)) }
}
