import Glibc

/// The slot's way to its nursery. Lives on the slot's thread, whose child the nursery is, as its rooms are.
final class RoomNursery {
    private let socket: Descriptor
    /// Known once it has been heard of.
    private var process: RoomChild?
    private var buffer = [UInt8](repeating: 0, count: Datagram.byteLimit)

    /// `socket` is our end; the other is the first room's, which tells of the nursery that it leaves behind.
    init(_ socket: Descriptor) { self.socket = socket }

    /// A room that has `socket` and `words`; `nil` where no nursery is there that would make one within `limit`.
    func child(socket room: Descriptor, words: Descriptor, limit: Duration) -> RoomChild? {
        hearOfIt()
        let sent = withExtendedLifetime((room, words)) {
            process == nil ? nil : Datagram.send([0], [room.number, words.number], to: socket.number, waits: false)
        }
        guard case .sent? = sent, let id = number(within: limit)
        else { return nil }
        // One that cannot be watched has been killed; why it cannot is met again by the program that is started instead.
        return try? RoomChild(adopting: id)
    }

    /// Readable when there is news: that it is there, or that it has ended.
    var ear: Int32 { socket.number }

    /// Hears the news; whether it is there.
    func hearNews() -> Bool {
        // What comes unasked of one that is known is its end.
        guard process == nil else { return false }
        hearOfIt()
        return process != nil
    }

    /// Ends it, and waits for that.
    func end() {
        hearOfIt()
        guard let process else { return }
        self.process = nil
        process.kill()
        // If it was killed and is not gone, it is not waited for any longer.
        if isReadable(process.handle, within: .seconds(5)) { _ = process.reap() }
    }

    /// Takes the first room's word for it, if that is there.
    private func hearOfIt() {
        guard process == nil, let id = number(within: .zero) else { return }
        // As above: it is as if there were none.
        process = try? RoomChild(adopting: id)
    }

    /// The next process that it tells of.
    private func number(within limit: Duration) -> pid_t? {
        guard isReadable(socket, within: limit),
            case .message(let bytes, _) = Datagram.receive(
                from: socket.number,
                into: &buffer,
                takesDescriptors: false,
                waits: false
            ),
            let number = ProcessNumber.number(in: bytes), number > 0
        else { return nil }
        return number
    }

    private func isReadable(_ descriptor: Descriptor, within limit: Duration) -> Bool {
        var waited = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        return retryingInterrupts { Int(poll(&waited, 1, Int32(clamping: Int(limit / .milliseconds(1))))) } > 0
    }
}
