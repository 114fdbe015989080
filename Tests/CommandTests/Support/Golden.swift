import Foundation
import TestSupport
import Testing

/// Compares a command's output with the files in `Golden`.
///
/// To accept an intended change, run `SLUICE_REWRITE_GOLDEN=1 swift test --filter CommandTests` and review the new
/// files as part of the change.
enum Golden {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Golden")

    /// Masks what differs from run to run in `text`, and compares the result with the file `name`.
    static func expect(_ text: String, is name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let masked = masked(text)
        let path = folder.appendingPathComponent(name).path
        if ProcessInfo.processInfo.environment["SLUICE_REWRITE_GOLDEN"] == "1" {
            return try Bytes.write(Array(masked.utf8), to: path)
        }
        let kept = String(decoding: try Bytes.read(path), as: UTF8.self)
        #expect(masked == kept, "Golden/\(name)", sourceLocation: sourceLocation)
    }

    /// `text` with durations in seconds as 0, and without what differs between releases of libav: their names, sizes and bit
    /// rates of files that contain these, and the call that reports damage.
    static func masked(_ text: String) -> String {
        text.replacing(#/"seconds":[0-9.e+-]+/#) { _ in "\"seconds\":0" }
            .replacing(#/Lav[fc][0-9.]+/#) { "\($0.output.prefix(4))N" }
            .replacing(#/"bytes":[0-9]+/#) { _ in "\"bytes\":0" }
            .replacing(#/"bitRate":([0-9]+)/#) { $0.output.1.hasSuffix("000") ? "\($0.output.0)" : "\"bitRate\":0" }
            .replacing(#/avcodec_(send_packet|receive_frame):/#) { _ in "avcodec_N:" }
    }
}
