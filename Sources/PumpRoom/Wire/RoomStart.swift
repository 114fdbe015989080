/// How a slot and the program that it starts as a room find each other.
package enum RoomStart {
    /// The name of the program. Without words, and with the socket below, it is a room.
    package static let name = "sluice-room"
    /// The word with which the program prints `RoomLibraries` as JSON, and ends.
    package static let librariesWord = "libraries"
    /// The descriptor of the socket to the slot.
    package static let socket: Int32 = 3
    /// The descriptor of the socket over which the slot asks the fork server for rooms.
    package static let forkServerSocket: Int32 = socket + 1
}
