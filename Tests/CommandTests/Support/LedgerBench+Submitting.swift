import Conversion
import Foundation
import Ledger
import TestSupport
import Testing

/// Helpers for tests of submitting: files to submit, and the jobs that result.
extension LedgerBench {
    /// The usual destination and preset.
    static let usual = ["--to", "out/{dir}/{stem}.mp3", "--preset", "podcast-mp3"]

    /// Creates empty files: these tests never open them.
    func files(_ names: String...) throws {
        for name in names {
            let parent = (name as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(atPath: folder.path(parent), withIntermediateDirectories: true)
            try Bytes.write([], to: folder.path(name))
        }
    }

    /// Creates `count` empty files: `0.wav`, `1.wav`, and so on.
    func files(count: Int) throws {
        for number in 0..<count { try Bytes.write([], to: folder.path("\(number).wav")) }
    }

    /// Creates files with half a second of sound each.
    func sound(_ names: String..., hertz: Double = 440) throws {
        for name in names {
            let parent = (name as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(atPath: folder.path(parent), withIntermediateDirectories: true)
            try WAVFile.write(Signal.tone(hertz, rate: 16_000, frames: 8_000).pcm(.s16), to: folder.path(name))
        }
    }

    /// Changes the modification time of a file.
    func touch(_ name: String) throws {
        let later = [FileAttributeKey.modificationDate: Date(timeIntervalSinceNow: 60)]
        try FileManager.default.setAttributes(later, ofItemAtPath: folder.path(name))
    }

    /// Starts a worker that can reach the files of this machine.
    func startWorker() throws -> RunningSluice {
        let worker = try start("worker", "--root", "local=/", "--slots", "2", "--name", "pump")
        return worker
    }

    /// Deletes all jobs, as retention does once their time is over.
    func forgetJobs() throws {
        try sql("truncate sluice.job, sluice.finished, sluice.attempt; delete from sluice.batch")
    }

    func submit(_ words: String..., input: Run.Input = .nothing) throws -> Run {
        try run(["submit"] + words, input: input)
    }

    /// Each job's source and destination below this test's folder, in the order of the submission.
    func ways(batch: Int64 = 1) async throws -> [String] {
        let here = "local:" + folder.path.dropFirst() + "/"
        var ways: [String] = []
        for job in try await ledger.jobs(ofBatch: batch) {
            let story = try #require(try await ledger.story(of: job))
            let recipe = try Recipe(json: story.recipe)
            ways.append("\(recipe.sources[0].location) > \(recipe.outputs[0].location)".replacing(here, with: ""))
        }
        return ways
    }
}
