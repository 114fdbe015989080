/// Packets that an output copies: those of one track, or of several sources.
protocol PacketSource: AnyObject {
    /// The output whose stream the header of the copy describes.
    var described: PacketOutput { get }
    /// Frames of sound in the packets handed out so far.
    var deliveredFrames: Int64 { get }
    /// The frames that the copy must have.
    var plannedFrames: Int64 { get }
    /// The frames that are expected, for progress; `nil` if no number is.
    var promisedFrames: Int64? { get }
    /// Whether frames that are not sound may lie between packets that are.
    var hasParts: Bool { get }
    /// Whether the packet handed out last is one of the last source.
    var isInLastSource: Bool { get }

    /// Fills `packet` with the next one; `false` at the end.
    func next(into packet: inout Packet) throws -> Bool
}

extension PacketOutput: PacketSource {
    var described: PacketOutput { self }
    var promisedFrames: Int64? { track.plausibleFrames }
    var hasParts: Bool { false }
    var isInLastSource: Bool { true }
}
