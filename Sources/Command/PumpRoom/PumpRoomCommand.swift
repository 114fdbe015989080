import Console
import PumpRoom

/// The hidden command that a slot starts as its pump room.
enum PumpRoomCommand {
    static let value: Subcommand = Subcommand(
        name: RoomProcess.word,
        summary: "run a pump room",
        isHidden: true,
        run: { _, _ in RoomProcess.run() }
    )
}
