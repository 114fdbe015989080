import Foundation
import Media

/// Reads a file block by block. Returns its frames, and its loudest sample, where full scale is 1.
func measure(_ path: String) async throws -> (frames: Int64, peak: Float) {
    let file = try FileHandle(forReadingFrom: URL(filePath: path))
    let reader = try await AsyncReader(descriptor: file.fileDescriptor)
    var frames: Int64 = 0
    var peak: Float = 0
    for try await block in try await reader.blocks() {
        // block.position is the place of its first frame; block.floats has all channels, frame after frame.
        frames += Int64(block.frameCount)
        for sample in block.floats { peak = max(peak, abs(sample)) }
    }
    // The reader uses the descriptor to the end, so the file is closed here and not by Swift.
    try file.close()
    return (frames, peak)
}
