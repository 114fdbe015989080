import Glibc
import System

/// The slot's connection to its fork server. Used only on the slot's thread; the fork server
/// is its child, like the rooms.
final class ForkServerLink {
    private let socket: SharedDescriptor
    /// Known once the first room has reported it.
    private var process: RoomChild?
    private var buffer = [UInt8](repeating: 0, count: Datagram.byteLimit)

    /// `socket` is our end. The first room has the other one, and reports over it the fork
    /// server that it leaves behind.
    init(_ socket: SharedDescriptor) { self.socket = socket }

    /// A new room that has `socket` and `words`; `nil` if there is no fork server or it does not answer within `limit`.
    func child(socket room: SharedDescriptor, words: SharedDescriptor, limit: Duration) -> RoomChild? {
        hearOfIt()
        let sent = withExtendedLifetime((room, words)) {
            process == nil ? nil : Datagram.send([0], [room.number, words.number], to: socket.number, waits: false)
        }
        guard case .sent? = sent, let id = number(within: limit)
        else { return nil }
        // A room that cannot be watched has been killed. The same problem will show when the
        // slot starts the program instead.
        return try? RoomChild(adopting: id)
    }

    /// Readable when the fork server has been reported, or has ended.
    var pollDescriptor: Int32 { socket.number }

    /// Reads pending messages. Returns whether the fork server is up.
    func readMessages() -> Bool {
        // A known fork server sends nothing unasked, so this is the end of its stream.
        guard process == nil else { return false }
        hearOfIt()
        return process != nil
    }

    /// Kills the fork server, and waits for its end.
    func end() {
        hearOfIt()
        guard let process else { return }
        self.process = nil
        process.kill()
        // Do not wait longer for a killed process that does not end.
        if isReadable(process.handle, within: .seconds(5)) { _ = process.reap() }
    }

    /// Adopts the fork server, if the first room has reported it.
    private func hearOfIt() {
        guard process == nil, let id = number(within: .zero) else { return }
        // If it cannot be watched it has been killed, and the slot goes on as if there were none.
        process = try? RoomChild(adopting: id)
    }

    /// The next process id received from the fork server or the first room.
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

    private func isReadable(_ descriptor: SharedDescriptor, within limit: Duration) -> Bool {
        var waited = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        return retryingInterrupts { Int(poll(&waited, 1, Int32(clamping: Int(limit / .milliseconds(1))))) } > 0
    }
}
