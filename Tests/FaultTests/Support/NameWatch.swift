import Dispatch
import Glibc
import Synchronization
import TestSupport

/// Watches a folder with inotify for every name that a file gets. A file that is published twice is noticed even
/// if its content is the same both times.
final class NameWatch: Sendable {
    fileprivate struct Tally {
        var namings: [String: Int] = [:]
        var hasOverrun = false
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
    }

    private final class Shared: Sendable {
        let tally = Mutex(Tally())
    }

    private let descriptor: Int32
    private let shared = Shared()
    /// Reads events as they arrive, because the kernel queues only a limited number.
    ///
    /// Unchecked, because Dispatch does not declare its sources Sendable: this one is set once and then only
    /// cancelled, which any thread may do.
    nonisolated(unsafe) private let source: any DispatchSourceRead

    /// Counts from now on how often a file in `folder` gets each name. Ignores hidden names.
    init(_ folder: String) throws {
        let descriptor = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        guard descriptor >= 0 else { throw SupportError("watch names", errno: errno) }
        self.descriptor = descriptor
        source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: DispatchQueue(label: "name watch"))
        source.setEventHandler { [shared] in shared.tally.withLock { $0.takeNews(from: descriptor) } }
        // At that point no handler reads from it, and the kernel may reuse its number.
        source.setCancelHandler { close(descriptor) }
        source.activate()
        guard inotify_add_watch(descriptor, folder, UInt32(IN_CREATE | IN_MOVED_TO)) >= 0 else {
            throw SupportError("watch \(folder)", errno: errno)
        }
    }

    deinit { source.cancel() }

    /// How often each name was given so far. Throws if the kernel's queue overflowed.
    func counts() throws -> [String: Int] {
        try shared.tally.withLock { tally in
            tally.takeNews(from: descriptor)
            if tally.hasOverrun { throw SupportError("watch names", "there were more than the kernel keeps") }
            return tally.namings
        }
    }
}

extension NameWatch.Tally {
    fileprivate mutating func takeNews(from descriptor: Int32) {
        while true {
            let count = read(descriptor, &bytes, bytes.count)
            if count < 0, errno == EINTR { continue }
            // EAGAIN: no more events.
            guard count > 0 else { break }
            take(bytes.prefix(count))
        }
    }

    private mutating func take(_ news: ArraySlice<UInt8>) {
        var rest = news
        let head = MemoryLayout<inotify_event>.size
        while rest.count >= head {
            let event = rest.withUnsafeBytes { $0.loadUnaligned(as: inotify_event.self) }
            let name = rest.dropFirst(head).prefix(Int(event.len)).prefix { $0 != 0 }
            rest = rest.dropFirst(head + Int(event.len))
            if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { hasOverrun = true }
            let text = String(decoding: name, as: UTF8.self)
            if !text.isEmpty, !text.hasPrefix(".") { namings[text, default: 0] += 1 }
        }
    }
}
