import CLibAV
import Glibc
import Synchronization

/// Silences libav's log, and keeps each thread's last error line for the next failure.
enum LibAVLog {
    /// Installs the log callback; later calls do nothing. Every reader and writer calls it before its first libav call.
    static func capture() { _ = installed }

    private static let installed: Void = {
        av_log_set_level(AV_LOG_ERROR)
        av_log_set_callback { context, level, format, arguments in
            guard level <= AV_LOG_ERROR, let format, let arguments, let slot = LibAVLog.slot() else { return }
            // Keep the line about too many streams: the lack of memory that libav reports next explains less.
            guard strstr(slot, "max_streams") == nil else { return }
            var printsPrefix: Int32 = 1
            slot[0] = 0
            av_log_format_line2(context, level, format, arguments, slot, Int32(LibAVLog.capacity), &printsPrefix)
        }
    }()

    /// Returns and clears the last error line that libav logged on this thread; control characters become spaces.
    static func takeLastWords() -> String? {
        guard let slot = slot(), slot[0] != 0 else { return nil }
        let words = String(cString: slot)
        slot[0] = 0
        let printable = words.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) }
        return String(printable).withoutAddresses().trimmingSpaces()
    }

    /// Clears the last error line: a line from before a successful call does not explain a later failure.
    @inline(__always)
    static func forget() {
        if let known = pthread_getspecific(key) { known.storeBytes(of: 0, as: UInt8.self) }
    }

    private static let capacity = 512

    /// The thread's line buffer, freed when the thread ends.
    private static func slot() -> UnsafeMutablePointer<CChar>? {
        if let known = pthread_getspecific(key) { return known.assumingMemoryBound(to: CChar.self) }
        guard let fresh = calloc(1, capacity) else { return nil }
        pthread_setspecific(key, fresh)
        return fresh.assumingMemoryBound(to: CChar.self)
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key) { free($0) }
        return key
    }()
}

extension String {
    /// Turns `[mp3 @ 0x55d0c0ffee00]` into `[mp3]`: addresses differ from run to run and mean nothing to a user.
    func withoutAddresses() -> String {
        var (rest, kept) = (self[...], "")
        while let sign = rest.firstRange(of: " @ 0x") {
            kept += rest[..<sign.lowerBound]
            rest = rest[sign.upperBound...].drop { $0.isHexDigit }
        }
        return kept + rest
    }

    fileprivate func trimmingSpaces() -> String {
        var rest = self[...]
        while rest.first == " " { rest = rest.dropFirst() }
        while rest.last == " " { rest = rest.dropLast() }
        return String(rest)
    }
}
