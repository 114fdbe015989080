import Conversion
import Foundation
import Storage
import TestSupport
import Testing

struct OutputFileTests {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        folder = try TemporaryFolder.create()
        path = folder.path("out.wav")
    }

    @Test(arguments: bothModes, Recipe.ConflictPolicy.allCases)
    func nothingIsVisibleBeforePublishing(hidden: Bool, policy: Recipe.ConflictPolicy) throws {
        let output = try ready(path, policy, mustBeHidden: hidden)
        #expect(output.isUnnamed == !hidden)
        #expect(try folder.names() == (hidden ? [".out.wav.sluice-1.part"] : []))
        #expect(try output.publish() == .published)
        #expect(try folder.names() == ["out.wav"])
        #expect(try text(path) == "new")
    }

    @Test(arguments: bothModes)
    func droppedOutputLeavesNothing(hidden: Bool) throws {
        do { _ = try ready(path, mustBeHidden: hidden) }
        #expect(try folder.names() == [])
        try ready(path, mustBeHidden: hidden).discard()
        #expect(try folder.names() == [])
    }

    @Test func existingDestinationIsAnsweredBeforeWork() throws {
        try Bytes.write(Array("old".utf8), to: path)
        let error = try #require(refusal(path))
        #expect(error.code == .destinationExists)
        #expect(error.stage == .open)
        #expect(try isSkipped(path))
        #expect(try text(path) == "old")
        #expect(try folder.names() == ["out.wav"])
    }

    @Test(arguments: bothModes)
    func replacingLeavesOnlyTheNew(hidden: Bool) throws {
        try Bytes.write(Array("the old one".utf8), to: path)
        let output = try ready(path, .replace, mustBeHidden: hidden)
        #expect(try text(path) == "the old one")
        #expect(try output.publish() == .published)
        #expect(try text(path) == "new")
        #expect(try folder.names() == ["out.wav"])
    }

    @Test(arguments: bothModes)
    func readerOfTheOldFileReadsOn(hidden: Bool) throws {
        try Bytes.write(Array("old".utf8), to: path)
        let reader = try OpenFile.reading(path)
        _ = try ready(path, .replace, mustBeHidden: hidden).publish()
        var seen = [UInt8](repeating: 0, count: 10)
        #expect(read(reader.descriptor, &seen, 10) == 3)
        let old: [UInt8] = Array("old".utf8)
        let beginning: [UInt8] = Array(seen.prefix(3))
        #expect(beginning == old)
    }

    // MARK: - Another writer comes first

    @Test(arguments: bothModes)
    func destinationThatAppearedMeanwhileIsKept(hidden: Bool) throws {
        let failing = try ready(path, .fail, mustBeHidden: hidden)
        let skipping = try ready(path, .skip, mustBeHidden: hidden)
        try Bytes.write(Array("theirs".utf8), to: path)
        let error = publishError(failing)
        #expect(error?.code == .destinationExists)
        #expect(error?.stage == .publish)
        #expect(try skipping.publish() == .skipped)
        #expect(try text(path) == "theirs")
        #expect(try folder.names() == ["out.wav"])
    }

    @Test(arguments: bothModes)
    func deviceThatAppearedMeanwhileIsNotReplaced(hidden: Bool) throws {
        let output = try ready(path, .replace, mustBeHidden: hidden)
        try #require(mkfifo(path, 0o600) == 0)
        let error = publishError(output)
        #expect(error?.code == .notAFile)
        #expect(try folder.names() == ["out.wav"])
    }

    @Test(arguments: bothModes)
    func oneOfFourThreadsWinsEveryRound(hidden: Bool) throws {
        for round in 0..<50 {
            let path = folder.path("round\(round)")
            let outcomes = Outcomes()
            inThreads(4) { _ in
                outcomes.note { try ready(path, mustBeHidden: hidden).publish().rawValue }
            }
            #expect(outcomes.counts == ["published": 1, "destination_exists": 3])
        }
        #expect(try folder.names().count == 50)
    }

    @Test(arguments: bothModes)
    func thousandOutputsOfFourThreadsAreAllThere(hidden: Bool) throws {
        let outcomes = Outcomes()
        let folder = folder
        inThreads(4) { thread in
            for number in 0..<250 {
                outcomes.note {
                    let name = "\(thread)-\(number)"
                    let output = try ready(folder.path(name), mustBeHidden: hidden, holding: Array(name.utf8))
                    return try output.publish(durably: false).rawValue
                }
            }
        }
        #expect(outcomes.counts == ["published": 1000])
        let names = try folder.names()
        #expect(names.count == 1000)
        for name in names { #expect(try text(folder.path(name)) == name) }
    }

    @Test(arguments: bothModes)
    func writersOfOneDestinationDoNotTakeEachOthersFiles(hidden: Bool) throws {
        // More writers than there are fixed hidden names.
        let outcomes = Outcomes()
        let path = path
        inThreads(12) { _ in
            for _ in 0..<20 {
                outcomes.note { try ready(path, .replace, mustBeHidden: hidden).publish(durably: false).rawValue }
            }
        }
        #expect(outcomes.counts == ["published": 240])
        #expect(try folder.names() == ["out.wav"])
    }

    // MARK: - Names

    @Test(arguments: [100, 101, 200, 255], bothModes)
    func everyNameThatTheFileSystemTakesWillDo(length: Int, hidden: Bool) throws {
        let name = String(repeating: "ä", count: length / 2) + (length.isMultiple(of: 2) ? "" : "x")
        let output = try ready(folder.path(name), mustBeHidden: hidden)
        for found in try folder.names() { #expect(found.utf8.count <= 143) }
        _ = try output.publish()
        #expect(try folder.names() == [name])
    }

    @Test func namesThatShareTheirBeginningHaveDifferentHiddenNames() throws {
        let long = String(repeating: "x", count: 200)
        _ = try ready(folder.path(long + "1"), mustBeHidden: true)
        let one = try ready(folder.path(long + "1"), mustBeHidden: true)
        let two = try ready(folder.path(long + "2"), mustBeHidden: true)
        #expect(Set(try folder.names()).count == 2)
        _ = try one.publish()
        _ = try two.publish()
    }

    @Test func relativePathsAreSeenFromTheWorkingFolder() throws {
        try #require(mkdir(folder.path("below"), 0o755) == 0)
        for (destination, said) in [
            ("out.wav", "published"), ("below/out.wav", "published"), ("./below/../2.wav", "published"),
            ("none/out.wav", "folder_not_found at open"),
        ] {
            #expect(try StorageProcess(destination: destination).outcome(in: folder.path) == said)
        }
        #expect(try folder.names() == ["2.wav", "below", "out.wav"])
    }
}
