/// Where a slot's rooms come from: the nursery, where there is one, or the program itself. Lives on the slot's thread.
final class RoomOrigin {
    private let configuration: RoomConfiguration
    private var nursery: RoomNursery?

    init(_ configuration: RoomConfiguration) { self.configuration = configuration }

    /// A new room's process, with `socket` and `words` as its own.
    func child(socket: Descriptor, words: Descriptor) throws(SystemError) -> RoomChild {
        if let child = nursery?.child(socket: socket, words: words, limit: configuration.obedienceLimit) {
            return child
        }
        // It has ended, does not answer, or was never there. The program leaves another one behind.
        forgetNursery()
        guard configuration.keepsNursery else {
            return try RoomChild.start(configuration.executable, socket: socket, words: words, nursery: nil)
        }
        let (ours, theirs) = try Datagram.pair()
        let child = try RoomChild.start(
            configuration.executable,
            socket: socket,
            words: words,
            nursery: try theirs.above(NurseryProcess.socket)
        )
        nursery = RoomNursery(ours)
        return child
    }

    /// Readable when there is news of the nursery; -1 where there is none.
    var ear: Int32 { nursery?.ear ?? -1 }

    /// Hears it, and buries a nursery that has ended.
    func hearNews() {
        if let nursery, !nursery.hearNews() { forgetNursery() }
    }

    /// Ends the nursery: the next room starts as a program.
    func forgetNursery() {
        nursery?.end()
        nursery = nil
    }
}
