/// What is known about the packet that was read ahead, and how reading ended.
struct LookAhead {
    /// Whether a packet was read ahead and comes next.
    var isHeld = false
    /// What was found about the packet read last, which is the one read ahead if there is one.
    var arrival = Arrival()
    /// Why the source broke off.
    private(set) var earlyEnd: LibAVError?

    /// Begins with another packet.
    mutating func begin() { arrival = Arrival() }

    /// Adds what was missing before the packet.
    mutating func note(_ loss: Loss?) { arrival.loss = loss ?? arrival.loss }

    /// Notes that the source broke off.
    mutating func end(with error: LibAVError) { earlyEnd = error }

    /// Forgets how reading ended, because it goes on elsewhere.
    mutating func forgetEnd() { earlyEnd = nil }

    mutating func takeEarlyEnd() -> LibAVError? {
        defer { earlyEnd = nil }
        return earlyEnd
    }

    /// Takes the packet that was read ahead; `false` if there is none.
    mutating func take() -> Bool {
        defer { isHeld = false }
        return isHeld
    }
}
