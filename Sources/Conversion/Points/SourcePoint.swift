/// A place where something changes in a source: a mark that the file states, or something that was heard in its sound.
///
/// Frames count on the clock of the track, at its rate, from the first frame of its sound.
public struct SourcePoint: Sendable, Hashable, Codable {
    public var kind: Kind
    public var frame: Int64
    /// How long it lasts; 0 for an instant.
    public var frames: Int64
    /// The channels that it concerns, counted from 1; empty if it concerns all.
    public var channels: [Int]
    /// A title, a label, an error code, or what changes.
    public var text: String?
    /// Of clipping, the samples that are clipped; of a DC offset, the mean of the samples as a part of full scale.
    public var value: Double?
    /// Whether the file states a time between two frames.
    public var isRounded: Bool

    public init(
        _ kind: Kind,
        at frame: Int64,
        frames: Int64 = 0,
        channels: [Int] = [],
        text: String? = nil,
        value: Double? = nil,
        isRounded: Bool = false
    ) {
        self.kind = kind
        self.frame = frame
        self.frames = frames
        self.channels = channels
        self.text = text
        self.value = value
        self.isRounded = isRounded
    }

    /// The frame after its last one; of an instant, the frame itself.
    public var end: Int64 { Int64(clamping: Int128(frame) + Int128(frames)) }

    /// What happens at a point. The order is that of points at one frame.
    public enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
        /// The first frame that is not silent, and the frame after the last one.
        case soundStart = "sound_start"
        case soundEnd = "sound_end"
        /// The frame from which the sound stays well below its level, to its end.
        case ending
        /// Where an edit list goes on with another part of the media.
        case edit
        case chapter
        /// The start of a track in a CUE sheet, and its other indices.
        case cueTrack = "cue_track"
        case cueIndex = "cue_index"
        /// A marker, and a marked range.
        case cue
        case region
        case loop
        /// The rate or the channels change.
        case formatChange = "format_change"
        case damage
        case silence
        /// Samples at the ends of the scale.
        case clipping
        /// A short run of equal samples in the middle of sound.
        case dropout
        /// A channel that is silent while others are not.
        case silentChannel = "silent_channel"
        /// Two channels with the same samples.
        case equalChannels = "equal_channels"
        case offset = "dc_offset"
    }
}

extension SourcePoint: Comparable {
    /// In time, and at one frame in the order of kinds, and the longer first.
    public static func < (first: SourcePoint, second: SourcePoint) -> Bool {
        if first.frame != second.frame { return first.frame < second.frame }
        if first.kind != second.kind { return first.kind.order < second.kind.order }
        if first.frames != second.frames { return first.frames > second.frames }
        if first.channels != second.channels { return first.channels.lexicographicallyPrecedes(second.channels) }
        return (first.text ?? "") < (second.text ?? "")
    }
}

extension SourcePoint.Kind {
    fileprivate var order: Int { Self.orders[self] ?? 0 }

    private static let orders = Dictionary(
        uniqueKeysWithValues: allCases.enumerated().map { ($0.element, $0.offset) }
    )
}
