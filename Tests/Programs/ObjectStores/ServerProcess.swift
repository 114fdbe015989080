import Foundation
import TestSupport

/// A server for tests that is a Python program: it prints its port, and ends with its standard input.
final class ServerProcess: Sendable {
    private let process: ChildProcess
    private let input: OpenPipe
    let port: Int

    /// `program` is a path below `Tests/Programs`.
    init(_ program: String, _ words: [String] = []) throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../\(program)")
            .standardizedFileURL.path
        let (input, output) = (try OpenPipe.open(), try OpenPipe.open())
        process = try ChildProcess.spawn(
            "python3",
            ["-B", path] + words,
            environment: nil,
            folder: nil,
            input: input.reading,
            output: output.writing,
            errors: STDERR_FILENO
        )
        self.input = input
        input.closeReading()
        output.closeWriting()
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while read(output.reading, &byte, 1) == 1, byte != UInt8(ascii: "\n") { line.append(byte) }
        guard let port = Int(String(decoding: line, as: UTF8.self)) else {
            process.kill()
            throw SupportError("start \(program)", "it prints no port")
        }
        self.port = port
    }

    deinit { process.kill() }
}
