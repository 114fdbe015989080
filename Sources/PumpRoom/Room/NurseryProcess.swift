import Glibc
import Media

/// A room that never becomes one: it is all prepared, and makes rooms of itself as its slot asks for them. Each is there in a few
/// milliseconds, and shares the memory that preparing took.
///
/// It reads nothing that comes from outside, has no thread but one, and makes children of its parent: a slot waits for its rooms
/// itself, wherever they come from. What is beyond it is left to the slot, which starts the program instead.
enum NurseryProcess {
    /// The descriptor of the socket to the slot.
    static let socket: Int32 = RoomProcess.socket + 1

    /// Leaves a nursery behind, where the slot wants one. Returns in the calling process, and in each room that the nursery makes.
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

    /// Tells the slot of a process; ends this process if the slot has hung up.
    private static func say(_ id: pid_t) {
        _ = Datagram.send(ProcessNumber.bytes(id > 0 ? id : -errno), to: socket, waits: true)
    }

    /// Makes rooms until the slot hangs up. Returns in the rooms alone.
    private static func serve() {
        // In the room's group until the slot has heard of it: whatever ends the room before, ends it too.
        RoomLock.diesWithItsStarter()
        // Its standard output and error lead nowhere, and its number 3 stays taken: what comes in must not get the number that a room's
        // socket will have.
        dup2(STDOUT_FILENO, STDERR_FILENO)
        dup2(STDOUT_FILENO, RoomProcess.socket)
        // What it did not learn so, each of its rooms learns by its first job.
        try? Rehearsal.play()
        ProcessMemory.forgetPastConversions()
        var buffer = [UInt8](repeating: 0, count: Datagram.byteLimit)
        while !makeRoom(&buffer) {}
    }

    /// Answers one request; true in the room that came of it. A function of its own, so that no descriptor outlives it in a local
    /// variable.
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
            // The slot is gone, or knows better than this program what it wants.
            _exit(0)
        }
        let id = SiblingProcess.fork()
        guard id == 0 else {
            say(id)
            return false
        }
        // The optimiser lets go of an owner once its number has been read.
        withExtendedLifetime(descriptors) {
            dup2(descriptors[0].number, RoomProcess.socket)
            dup2(descriptors[1].number, STDERR_FILENO)
        }
        close(socket)
        RoomLock.diesWithItsStarter()
        return true
    }
}
