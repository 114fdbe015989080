import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// Programs that are asked for their libraries and are none of ours.
struct RoomLibrariesTests {
    /// `sleep` and the stopped shell: a program that lives on, with its output closed or open.
    @Test(arguments: ["echo '{}'; exec >&-; exec /bin/sleep 600", "kill -STOP $$", "exec /bin/sleep 600"])
    func aProgramThatLivesOnIsEnded(script: String) throws {
        let folder = try TemporaryFolder.create()
        let program = folder.path("sluice-room")
        let text = "#!/bin/sh\necho $$ >'\(folder.path("id"))'\n\(script)\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: program))
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        let start = ContinuousClock.now
        #expect(throws: RoomProgramError.self) { try RoomLibraries.asking(program, timeLimit: .seconds(1)) }
        #expect(ContinuousClock.now - start < .seconds(30))
        let number = try String(contentsOfFile: folder.path("id"), encoding: .utf8)
        let id = try #require(pid_t(number.trimmingCharacters(in: .newlines)))
        #expect(!ProcessFacts.isAlive(id))
    }
}
