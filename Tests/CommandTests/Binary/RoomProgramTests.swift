import Foundation
import TestSupport
import Testing

@testable import PumpRoom

/// How `sluice` finds `sluice-room`, and what it says if that is missing or of another version.
struct RoomProgramTests {
    let material: Material

    init() throws { material = try Material() }

    /// A prefix with a copy of the command alone: `bin/sluice`.
    private func prefix() throws -> String {
        let prefix = material.path("prefix")
        for folder in ["bin", "libexec/sluice"] {
            try FileManager.default.createDirectory(atPath: "\(prefix)/\(folder)", withIntermediateDirectories: true)
        }
        try FileManager.default.copyItem(atPath: Sluice.path, toPath: "\(prefix)/bin/sluice")
        return prefix
    }

    private func run(_ prefix: String, _ words: String...) throws -> Run {
        let environment = Sluice.environment()
        return try Run.program("\(prefix)/bin/sluice", words, environment: environment, folder: material.folder.path)
    }

    private func doctor(_ prefix: String) throws -> Run {
        try run(prefix, "doctor", "--config", "/dev/null", "--database", "host=/nowhere")
    }

    @Test func missingProgramOfRoomsIsAFailureWithAHintAndOnlyWhereARoomIsNeeded() throws {
        let prefix = try prefix()
        #expect(try run(prefix, "--version").status == .exited(0))
        let converted = try run(prefix, "convert", "talk.wav", "out.flac")
        #expect(converted.status != .exited(0))
        let place = "\(prefix)/libexec/sluice/sluice-room: No such file or directory"
        #expect(converted.errorText.contains("cannot start a room: start \(place)"), "\(converted.errorText)")
        #expect(converted.errorText.contains("code room_start") && converted.errorText.contains(RoomExecutable.hint))
        let examined = try doctor(prefix)
        #expect(examined.outputText.contains("cannot start \(place)"), "\(examined.outputText)")
    }

    @Test(arguments: ["bin/sluice-room", "libexec/sluice/sluice-room"])
    func programOfRoomsIsBesideTheCommandOrInLibexec(place: String) throws {
        let prefix = try prefix()
        try FileManager.default.copyItem(atPath: BuiltProgram.path("sluice-room"), toPath: "\(prefix)/\(place)")
        let converted = try run(prefix, "convert", "talk.wav", "out.flac")
        #expect(converted.status == .exited(0), "\(converted.errorText)")
    }

    @Test func programOfRoomsIsNotLookedForByPath() throws {
        let prefix = try prefix()
        let folder = URL(filePath: BuiltProgram.path("sluice-room")).deletingLastPathComponent().path
        let converted = try Run.program(
            "\(prefix)/bin/sluice",
            ["convert", "talk.wav", "out.flac"],
            environment: Sluice.environment(["PATH": folder]),
            folder: material.folder.path
        )
        #expect(converted.errorText.contains("code room_start"), "\(converted.errorText)")
    }

    @Test func programOfAnotherVersionIsNamed() throws {
        let prefix = try prefix()
        let libraries = """
            {"build": "9.9.9", "release": "5", "writableCodecs": ["newcodec"], "versions": [], "codecMajor": 59}
            """
        try Bytes.write(Array("#!/bin/sh\necho '\(libraries)'\n".utf8), to: "\(prefix)/bin/sluice-room")
        try #require(chmod("\(prefix)/bin/sluice-room", 0o755) == 0)
        let text = try doctor(prefix).outputText
        #expect(text.contains("sluice-room has version 9.9.9, and sluice has \(SluiceBuild.number)"), "\(text)")
        #expect(text.contains(RoomExecutable.hint))
    }

    @Test func renamedCopiesPreferAProgramOfTheirName() {
        #expect(
            RoomExecutable.places(beside: "/usr/bin/sluice")
                == ["/usr/bin/sluice-room", "/usr/libexec/sluice/sluice-room"]
        )
        #expect(
            RoomExecutable.places(beside: "/a/sluice-0.2")
                == [
                    "/a/sluice-0.2-room", "/libexec/sluice/sluice-0.2-room", "/a/sluice-room",
                    "/libexec/sluice/sluice-room",
                ]
        )
        // A file that was replaced while it ran.
        #expect(RoomExecutable.places(beside: "/b/sluice (deleted)").first == "/b/sluice-room")
        #expect(
            RoomExecutable.places(beside: "/sluice") == ["/sluice-room", "/libexec/sluice/sluice-room"]
        )
    }
}
