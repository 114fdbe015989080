import Foundation
import Glibc
import TestSupport

/// Listens to the kernel for every name that files in a folder get, so that what was published twice is seen even if it was the
/// same both times.
final class NameWatch: @unchecked Sendable {
    // `descriptor` is set once; every access to the rest holds the lock.
    private let descriptor: Int32
    private let lock = NSLock()
    private var namings: [String: Int] = [:]
    private var hasOverrun = false

    /// Counts from now on how often each name is given to a file in `folder`, hidden ones aside.
    init(_ folder: String) throws {
        descriptor = inotify_init1(Int32(IN_CLOEXEC))
        guard descriptor >= 0 else { throw SupportError("watch names", errno: errno) }
        guard inotify_add_watch(descriptor, folder, UInt32(IN_CREATE | IN_MOVED_TO)) >= 0 else {
            throw SupportError("watch \(folder)", errno: errno)
        }
        let descriptor = descriptor
        Thread.detachNewThread { [weak self] in
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = read(descriptor, &bytes, bytes.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0, let self else { break }
                self.take(bytes.prefix(count))
            }
        }
    }

    deinit { close(descriptor) }

    /// How often each name was given. Throws if the kernel could not remember them all.
    func counts() throws -> [String: Int] {
        try lock.withLock {
            if hasOverrun { throw SupportError("watch names", "there were more than the kernel keeps") }
            return namings
        }
    }

    private func take(_ bytes: ArraySlice<UInt8>) {
        lock.withLock {
            var rest = bytes
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
}
