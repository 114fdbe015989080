import System

/// Makes a slot's rooms: from the fork server if there is one, otherwise by starting the program.
/// Used only on the slot's thread.
final class RoomOrigin {
    private let configuration: RoomConfiguration
    private var forkServer: ForkServerLink?

    init(_ configuration: RoomConfiguration) { self.configuration = configuration }

    /// A new room's process, which has `socket` and `words`.
    func child(socket: SharedDescriptor, words: SharedDescriptor) throws(SystemError) -> RoomChild {
        if let child = forkServer?.child(socket: socket, words: words, limit: configuration.obedienceLimit) {
            return child
        }
        // The fork server has ended, does not answer, or never existed. The program will leave another one behind.
        forgetForkServer()
        guard configuration.usesForkServer else {
            return try RoomChild.start(configuration.executable, socket: socket, words: words, forkServer: nil)
        }
        let (ours, theirs) = try Datagram.pair()
        let child = try RoomChild.start(
            configuration.executable,
            socket: socket,
            words: words,
            forkServer: try SharedDescriptor(copying: theirs.number, from: RoomStart.forkServerSocket + 1)
        )
        forkServer = ForkServerLink(ours)
        return child
    }

    /// Readable when there is news of the fork server; -1 if there is none.
    var pollDescriptor: Int32 { forkServer?.pollDescriptor ?? -1 }

    /// Reads the news, and discards a fork server that has ended.
    func readMessages() {
        if let forkServer, !forkServer.readMessages() { forgetForkServer() }
    }

    /// Ends the fork server, so the next room starts as a program.
    func forgetForkServer() {
        forkServer?.end()
        forkServer = nil
    }
}
