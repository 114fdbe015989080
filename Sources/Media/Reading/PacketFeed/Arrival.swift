/// What reading found out about one packet.
struct Arrival {
    /// The loss found before the packet.
    var loss: Loss?
    /// The packet's frames according to the codec.
    var frames: Int64?
    /// Its first frame according to the number in it.
    var start: Int64?
    var pages = OggPages.Arrival()

    /// Whether pages are missing before the packet.
    var isSuspect: Bool { pages.gap != .none }

    mutating func takeLoss() -> Loss? {
        defer { loss = nil }
        return loss
    }
}
