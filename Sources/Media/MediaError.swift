public import Conversion

/// What failed in a source, a format or an output, and where.
///
/// Callers branch on `code` and `stage` only; `detail` and `hint` are for people and may be reworded.
public struct MediaError: Error, Sendable, Hashable {
    public var code: Code
    public var stage: Stage
    /// What failed, as a sentence for people, without a full stop.
    public var detail: String
    /// The number of the affected stream in its container, if there is one.
    public var stream: Int?
    /// The position on the source's clock.
    public var position: MediaTime?
    /// The same position in frames of the source.
    public var frame: Int64?
    /// libav's name for the error, without its prefix: `INVALIDDATA`, `ENOSPC`.
    public var libavName: String?
    /// libav's text for the error and the last line that it logged on this thread.
    public var libavText: String?
    /// What to do next.
    public var hint: String?
    /// For a refused format, every field that does not fit.
    public var refusal: FormatRefusal?

    public init(
        _ code: Code,
        at stage: Stage,
        _ detail: String,
        stream: Int? = nil,
        position: MediaTime? = nil,
        frame: Int64? = nil,
        hint: String? = nil
    ) {
        self.code = code
        self.stage = stage
        self.detail = detail
        self.stream = stream
        self.position = position
        self.frame = frame
        self.hint = hint ?? code.hint
    }
}

extension MediaError {
    /// The step of the conversion that failed.
    public enum Stage: String, Sendable, Hashable, Codable, CaseIterable {
        case open, probe, decode, resample, encode, write, finish
    }

    /// Stable names; a name is never reused with another meaning. docs/errors.md explains each.
    public enum Code: String, Sendable, Hashable, Codable, CaseIterable {
        case emptyInput = "empty_input"
        case tagsOnly = "tags_only"
        case unknownContainer = "unknown_container"
        case containerNotAllowed = "container_not_allowed"
        case unreadableContainer = "unreadable_container"
        case noAudioTrack = "no_audio_track"
        case noSuchTrack = "no_such_track"
        case protectedContent = "protected_content"
        case unsupportedCodec = "unsupported_codec"
        case unsupportedBitDepth = "unsupported_bit_depth"
        case tooManyStreams = "too_many_streams"
        case sourceIO = "io_source"
        case sourceNotSeekable = "source_not_seekable"
        case rangeOutsideSource = "range_outside_source"
        case noDecodableFrame = "no_decodable_frame"
        case corruptStream = "corrupt_stream"
        case truncated = "truncated"
        case timelineGap = "timeline_gap"
        case implausibleLength = "implausible_length"
        case formatRefused = "format_refused"
        case passthroughRefused = "passthrough_refused"
        case lossRefused = "loss_refused"
        case outputTooLarge = "output_too_large"
        case resampleFailed = "resample_failed"
        case encodeFailed = "encode_failed"
        case emptyOutput = "empty_output"
        case destinationIO = "io_destination"
        case diskFull = "disk_full"
        case destinationNotSeekable = "destination_not_seekable"
        case frameCountMismatch = "frame_count_mismatch"
        case writerFailed = "writer_failed"
        case alreadyFinished = "already_finished"
        case verifyMismatch = "verify_mismatch"
        case cancelled = "cancelled"
        case outOfMemory = "out_of_memory"
        case metadataTooLarge = "metadata_too_large"
        case outputBytesExceeded = "output_bytes_exceeded"
        case decodedSecondsExceeded = "decoded_seconds_exceeded"
        case expansionExceeded = "expansion_exceeded"
        case cpuExceeded = "cpu_seconds_exceeded"
        case openSecondsExceeded = "open_seconds_exceeded"
    }
}

extension MediaError.Code {
    /// What a user can do about the error; `nil` if there is no general advice.
    var hint: String? {
        switch self {
        case .emptyInput, .tagsOnly: "the upload may have stopped before the audio; fetch the file again"
        case .unknownContainer: "name the format if the file is raw PCM; otherwise check what the file is"
        case .containerNotAllowed: "only audio and video files are read; playlists and scripts are not"
        case .unreadableContainer: "the file may still be in writing, or was cut off before its index"
        case .protectedContent: "the file is encrypted; convert a copy without protection"
        case .unsupportedBitDepth: "decode it with the reference decoder of its format first"
        case .corruptStream, .truncated, .timelineGap:
            "conceal keeps the length and fills the damage with silence; skip leaves it out"
        case .implausibleLength:
            "--conceal-limit raises the limit where the sound was that long; --on-damage skip adds no silence"
        case .diskFull: "free space at the destination and try again"
        case .destinationNotSeekable: "headers are completed at the end; write to a file, then copy it"
        case .lossRefused: "without --strict-loss the conversion goes on and tells what is lost"
        case .passthroughRefused: "choose a codec to convert instead of copying packets"
        case .openSecondsExceeded: "take tags out of the file, or raise openSeconds if the file is what it should be"
        default: nil
        }
    }
}

extension MediaError: CustomStringConvertible {
    public var description: String {
        var text = "\(code.rawValue) while \(stage.doing): \(detail)"
        if let position { text += " at \(position)" }
        if let frame { text += " (frame \(frame))" }
        if let stream { text += ", stream \(stream)" }
        if let libavName { text += " [\(libavName)\(libavText.map { ": \($0)" } ?? "")]" }
        return text
    }
}

extension MediaError.Stage {
    private var gerunds: [MediaError.Stage: String] {
        [
            .open: "opening", .probe: "probing", .decode: "decoding", .resample: "resampling", .encode: "encoding",
            .write: "writing", .finish: "finishing",
        ]
    }

    var doing: String { gerunds[self] ?? rawValue }
}
