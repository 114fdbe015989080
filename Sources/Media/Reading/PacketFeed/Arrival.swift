/// What reading found out about one packet.
struct Arrival {
    /// The loss found before the packet.
    var loss: Loss?
    /// The packet's frames according to the codec.
    var frames: Int64?
    /// Its first frame according to the number in it.
    var start: Int64?
    var pages = OggPages.Arrival()
    /// Where the stream of the packet begins in the source, if it follows another one.
    var link: Int64?

    /// Whether pages are missing before the packet.
    var isSuspect: Bool { pages.gap != .none }

    mutating func takeLoss() -> Loss? {
        defer { loss = nil }
        return loss
    }
}
