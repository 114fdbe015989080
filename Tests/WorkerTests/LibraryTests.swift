import Foundation
import Ledger
import PumpRoom
import TestSupport
import Testing

/// Workers state the libraries with which they convert, and jobs may ask for a release of libav.
struct LibraryTests {
    @Test func attemptsNameTheLibrariesOfTheirWorker() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let job = try #require(try await lab.submit(1).first)
        let worker = try lab.worker()
        try await lab.wait("the job is done") { try lab.truth() == ["completed": 1] }
        let story = try #require(try await lab.ledger.stories(of: [job]).first)
        let libraries = try RoomLibraries.asking(WorkerProcess.roomProgram)
        #expect(story.attempts.map(\.libraries) == [libraries.description])
        #expect(libraries.description.contains("libavcodec \(libraries.codecMajor)."))
        #expect(try await lab.ledger.workers().map(\.libraries) == [libraries.description])
        try await worker.stopsWell()
    }

    @Test func jobsWaitForTheReleaseThatTheyNeed() async throws {
        let lab = try await WorkerLab()
        try lab.addSource()
        let here = try RoomLibraries.asking(WorkerProcess.roomProgram).codecMajor
        let requests = [here, here + 1].map { major in
            JobRequest(WorkerLab.recipe(to: "out:\(major).flac"), needs: [AbilityWord.libav(major)])
        }
        _ = try await lab.ledger.submit(Submission(), requests)
        let worker = try lab.worker("--until-idle")
        try await worker.endsWell()
        #expect(try lab.truth() == ["completed": 1, "waiting": 1])
        #expect(try lab.outputs() == ["\(here).flac"])
    }
}
