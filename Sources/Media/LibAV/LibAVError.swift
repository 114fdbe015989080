import CLibAV
import Conversion
import Glibc

/// A failed libav call: the operation, its result, and the last error line that libav logged.
///
/// It never leaves the module: readers and writers know the stage and the position, and turn it into a `MediaError`.
struct LibAVError: Error {
    let operation: StaticString
    let result: Int32
    let lastWords: String?

    init(_ operation: StaticString, _ result: Int32) {
        self.operation = operation
        self.result = result
        self.lastWords = LibAVLog.takeLastWords()
    }

    /// A libav result that makes no sense here.
    static func invalid(_ operation: StaticString) -> LibAVError { LibAVError(operation, -EINVAL) }

    /// The error that libav returns when a container contradicts itself.
    static func invalidData(_ operation: StaticString) -> LibAVError {
        LibAVError(operation, SLUICE_AVERROR_INVALIDDATA)
    }

    /// The error of a call that reads a source.
    ///
    /// If a header makes libav ask for more memory than any legitimate file needs, that is damage, not a lack of
    /// memory: another attempt would end in the same way.
    static func ofSource(_ operation: StaticString, _ result: Int32) -> LibAVError {
        LibAVError(operation, result == -ENOMEM && !MemoryShortage.isNow ? SLUICE_AVERROR_INVALIDDATA : result)
    }

    /// A failure to read bytes that were readable before.
    static func unreadable(_ operation: StaticString) -> LibAVError { LibAVError(operation, -EIO) }

    /// The error name without its prefix: `INVALIDDATA`, `ENOSPC`.
    var name: String {
        switch result {
        case SLUICE_AVERROR_EOF: "EOF"
        case SLUICE_AVERROR_EXIT: "EXIT"
        case SLUICE_AVERROR_INVALIDDATA: "INVALIDDATA"
        case SLUICE_AVERROR_PATCHWELCOME: "PATCHWELCOME"
        case SLUICE_AVERROR_BUG, SLUICE_AVERROR_BUG2: "BUG"
        case SLUICE_AVERROR_UNKNOWN: "UNKNOWN"
        case SLUICE_AVERROR_EXPERIMENTAL: "EXPERIMENTAL"
        case SLUICE_AVERROR_DECODER_NOT_FOUND: "DECODER_NOT_FOUND"
        case SLUICE_AVERROR_DEMUXER_NOT_FOUND: "DEMUXER_NOT_FOUND"
        case SLUICE_AVERROR_ENCODER_NOT_FOUND: "ENCODER_NOT_FOUND"
        case SLUICE_AVERROR_MUXER_NOT_FOUND: "MUXER_NOT_FOUND"
        case SLUICE_AVERROR_STREAM_NOT_FOUND: "STREAM_NOT_FOUND"
        case SLUICE_AVERROR_INPUT_CHANGED: "INPUT_CHANGED"
        case SLUICE_AVERROR_OUTPUT_CHANGED: "OUTPUT_CHANGED"
        case SLUICE_AVERROR_BUFFER_TOO_SMALL: "BUFFER_TOO_SMALL"
        case SLUICE_AVERROR_EXTERNAL: "EXTERNAL"
        // Some decoders return a bare -1. It does not mean EPERM: codecs do not check permissions.
        case -1 where "\(operation)".hasPrefix("avcodec"): "UNKNOWN"
        default: errnoName ?? "\(result)"
        }
    }

    /// libav's message for the result, and the last error line that it logged on this thread.
    var text: String {
        var buffer = [CChar](repeating: 0, count: 128)
        av_strerror(result, &buffer, buffer.count)
        let words = String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard let lastWords, !lastWords.isEmpty else { return "\(operation): \(words)" }
        return "\(operation): \(words); \(lastWords)"
    }

    var isOutOfSpace: Bool { [-ENOSPC, -EDQUOT, -EFBIG].contains(result) }
    var isOutOfMemory: Bool { result == -ENOMEM }
    var wasInterrupted: Bool { result == SLUICE_AVERROR_EXIT }

    private var errnoName: String? {
        let names: [Int32: String] = [
            EPERM: "EPERM", ENOENT: "ENOENT", EIO: "EIO", EAGAIN: "EAGAIN", ENOMEM: "ENOMEM", EACCES: "EACCES",
            EINVAL: "EINVAL", EFBIG: "EFBIG", ENOSPC: "ENOSPC", ESPIPE: "ESPIPE", EPIPE: "EPIPE", ERANGE: "ERANGE",
            ENOSYS: "ENOSYS", EDQUOT: "EDQUOT", EBADF: "EBADF", EDOM: "EDOM", ETIMEDOUT: "ETIMEDOUT",
        ]
        // The least number has no negative.
        return names[0 &- result]
    }
}

/// Returns a libav result, or throws it as the failure of `operation`.
@discardableResult @inline(__always)
func check(_ result: Int32, _ operation: StaticString) throws -> Int32 {
    if result < 0 { throw LibAVError(operation, result) }
    LibAVLog.forget()
    return result
}

/// Like `check`, for calls that allocate by sizes stated in a source.
@discardableResult @inline(__always)
func checkSource(_ result: Int32, _ operation: StaticString) throws -> Int32 {
    if result < 0 { throw LibAVError.ofSource(operation, result) }
    LibAVLog.forget()
    return result
}

/// Unwraps a libav allocation, or throws that memory ran out.
@inline(__always)
func allocated<Pointee>(
    _ pointer: UnsafeMutablePointer<Pointee>?,
    _ operation: StaticString
) throws -> UnsafeMutablePointer<Pointee> {
    guard let pointer else { throw LibAVError(operation, -ENOMEM) }
    return pointer
}

extension MediaError {
    /// Translates `cause` into the public error, adding what only the caller knows: the
    /// stage, the stream and the position.
    ///
    /// A stop, a lack of memory and a full disk take precedence over `code`.
    init(
        _ cause: LibAVError,
        _ code: FailureCode,
        at stage: Failure.Stage,
        _ detail: String,
        stream: Int? = nil,
        position: MediaTime? = nil,
        frame: Int64? = nil
    ) {
        let reached: FailureCode =
            cause.wasInterrupted
            ? .cancelled : cause.isOutOfMemory ? .outOfMemory : cause.isOutOfSpace ? .diskFull : code
        self.init(reached, at: stage, detail, stream: stream, position: position, frame: frame)
        libavName = cause.name
        libavText = cause.text
    }
}
