import Glibc
import Media
import PumpRoom
import System

/// A fork server: a fully prepared room process that forks new rooms when the slot asks for them. A room starts in a
/// few milliseconds this way, and shares the memory that the preparation took.
///
/// The fork server reads no untrusted data and has one thread. The rooms it makes are children of its parent, so the
/// slot waits for all its rooms itself. If the fork server cannot make a room, the slot starts the program instead.
enum ForkServer {
    private static let socket = RoomStart.forkServerSocket

    /// Forks the fork server, if the slot passed a socket for one. Returns in the calling process and in each
    /// room that the fork server makes.
    static func branchOff() {
        guard Datagram.isSocket(socket) else { return }
        let id = SiblingProcess.fork()
        if id == 0 {
            serve()
        } else {
            say(id)
            close(socket)
        }
    }

    /// Sends the slot a process id, or a negated errno. Exits if the slot has hung up.
    private static func say(_ id: pid_t) {
        _ = Datagram.send(ProcessNumber.bytes(id > 0 ? id : -errno), to: socket, waits: true)
    }

    /// Makes rooms until the slot hangs up. Returns only in the rooms.
    private static func serve() {
        // Until the slot adopts it, the fork server is in the room's process group, so whatever
        // kills that room kills it too.
        RoomLock.diesWithItsStarter()
        // Standard output and error go to /dev/null. SharedDescriptor 3 stays taken, so that no received descriptor gets
        // the number that a room's socket will have.
        dup2(STDOUT_FILENO, STDERR_FILENO)
        dup2(STDOUT_FILENO, RoomStart.socket)
        // If the rehearsal fails, the first job in each room does this work instead.
        try? Rehearsal.play()
        ProcessMemory.forgetPastConversions()
        var buffer = [UInt8](repeating: 0, count: Datagram.byteLimit)
        while !makeRoom(&buffer) {}
    }

    /// Answers one request. Returns true in the new room. A separate function, so that no descriptor
    /// stays alive in a local variable.
    @inline(never)
    private static func makeRoom(_ buffer: inout [UInt8]) -> Bool {
        guard
            case .message(_, let descriptors) = Datagram.receive(
                from: socket,
                into: &buffer,
                takesDescriptors: true,
                waits: true
            ),
            descriptors.count == 2
        else {
            // The slot is gone, or it sent something that this version does not understand.
            _exit(0)
        }
        let id = SiblingProcess.fork()
        guard id == 0 else {
            say(id)
            return false
        }
        // The optimiser may release an owner as soon as its number has been read.
        withExtendedLifetime(descriptors) {
            dup2(descriptors[0].number, RoomStart.socket)
            dup2(descriptors[1].number, STDERR_FILENO)
        }
        close(socket)
        RoomLock.diesWithItsStarter()
        return true
    }
}
