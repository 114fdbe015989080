import Foundation
import TestSupport
import Testing

/// What a command printed, as the files in `Golden` keep it.
///
/// A change that is meant is taken over by `SLUICE_REWRITE_GOLDEN=1 swift test --filter CommandTests`, and reviewed as
/// part of the change.
enum Golden {
    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Golden")

    /// Compares `text` with the file `name`, after what differs from run to run is masked in it.
    static func expect(_ text: String, is name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let masked = masked(text)
        let path = folder.appendingPathComponent(name).path
        if ProcessInfo.processInfo.environment["SLUICE_REWRITE_GOLDEN"] == "1" {
            return try Bytes.write(Array(masked.utf8), to: path)
        }
        let kept = String(decoding: try Bytes.read(path), as: UTF8.self)
        #expect(masked == kept, "Golden/\(name)", sourceLocation: sourceLocation)
    }

    /// Seconds that work took become 0, versions of libav N.
    static func masked(_ text: String) -> String {
        text.replacing(#/"seconds":[0-9.e+-]+/#) { _ in "\"seconds\":0" }
            .replacing(#/Lav[fc][0-9.]+/#) { "\($0.output.prefix(4))N" }
    }
}
