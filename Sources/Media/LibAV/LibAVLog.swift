import CLibAV
import Glibc
import Synchronization

/// libav's log, kept quiet: nothing is printed, and the last error line of each thread is kept for the next failure.
enum LibAVLog {
    /// Takes the log over; later calls do nothing. Every reader and writer calls it before its first libav call.
    static func capture() { _ = installed }

    private static let installed: Void = {
        av_log_set_level(AV_LOG_ERROR)
        av_log_set_callback { context, level, format, arguments in
            guard level <= AV_LOG_ERROR, let format, let arguments, let slot = LibAVLog.slot() else { return }
            // What follows from too many streams is called a lack of memory; the cause explains more.
            guard strstr(slot, "max_streams") == nil else { return }
            var printsPrefix: Int32 = 1
            slot[0] = 0
            av_log_format_line2(context, level, format, arguments, slot, Int32(LibAVLog.capacity), &printsPrefix)
        }
    }()

    /// The last error line that libav logged on this thread, once; control characters are replaced.
    static func takeLastWords() -> String? {
        guard let slot = slot(), slot[0] != 0 else { return nil }
        let words = String(cString: slot)
        slot[0] = 0
        let printable = words.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) }
        return String(printable).withoutAddresses().trimmingSpaces()
    }

    /// What was said before a call that succeeded does not explain a later failure.
    @inline(__always)
    static func forget() {
        if let known = pthread_getspecific(key) { known.storeBytes(of: 0, as: UInt8.self) }
    }

    private static let capacity = 512

    /// One buffer per thread, freed when the thread ends.
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
    /// `[mp3 @ 0x55d0c0ffee00]` as `[mp3]`: where libav's objects lie differs from run to run and means nothing to a reader.
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
