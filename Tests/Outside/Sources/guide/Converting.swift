import Conversion
import Foundation
import Media

/// Converts a recording to the format of a preset, decodes the output again, and returns its frames.
func convert(_ source: String, to destination: String, preset name: String) throws -> Int64 {
    let input = try FileHandle(forReadingFrom: URL(filePath: source))
    try Data().write(to: URL(filePath: destination))
    let output = try FileHandle(forUpdating: URL(filePath: destination))

    var request = Converter.Request(format: try Preset.named(name).format, tags: ["title": "Episode 1"])
    request.verifies = true
    let outcome = try Converter(request).run(from: input.fileDescriptor, to: output.fileDescriptor)
    try input.close()
    // Some file systems report a full disk only here.
    try output.close()
    return outcome.summary.writtenFrames
}
