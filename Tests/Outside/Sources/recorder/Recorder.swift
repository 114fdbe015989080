import Conversion
import Foundation
import Media
import SlowDisk

/// Records sound with Media's interface for tasks, as a program of another package.
@main struct Recorder {
    static let rate = 48_000
    static let framesPerBlock = 4_800

    static func main() async throws {
        let folder = URL(filePath: CommandLine.arguments[1], directoryHint: .isDirectory)
        let tone = try await recordTone(to: folder.appending(path: "tone.flac"))
        print("tone: \(tone) frames")
        let slow = try await recordTone(to: folder.appending(path: "slow.wav"), writeDelay: .milliseconds(20))
        print("slow disk: \(slow) frames")
        let live = try await recordLive(to: folder.appending(path: "live.wav"), writeDelay: .milliseconds(250))
        print("live source: \(live.taken + live.lost) blocks, \(live.lost > 0 ? "some" : "none") lost")
    }

    /// Writes three seconds, each block when the writer is ready for it, and reads them back. Returns the frames.
    static func recordTone(to path: URL, writeDelay: Duration = .zero) async throws -> Int64 {
        let file = try create(path)
        set_slow_disk(UInt32(writeDelay / .microseconds(1)))
        defer { set_slow_disk(0) }
        let container: Container = path.pathExtension == "flac" ? .flac : .wav
        let writer = try AsyncWriter(descriptor: file.fileDescriptor, format: format(container), capacity: 2)
        for number in 0..<30 { try await writer.append(block(number)) }
        let summary = try await writer.finish()

        var frames: Int64 = 0
        let source = try FileHandle(forReadingFrom: path)
        for try await block in try await AsyncReader(descriptor: source.fileDescriptor).blocks() {
            frames += Int64(block.frameCount)
        }
        guard frames == summary.writtenFrames else { throw CocoaError(.fileReadCorruptFile) }
        return frames
    }

    /// Offers a block every 5 ms, as a device would, and drops those for which the writer is not ready.
    static func recordLive(to path: URL, writeDelay: Duration) async throws -> (taken: Int, lost: Int) {
        let file = try create(path)
        set_slow_disk(UInt32(writeDelay / .microseconds(1)))
        defer { set_slow_disk(0) }
        let writer = try AsyncWriter(descriptor: file.fileDescriptor, format: format(.wav), capacity: 2)
        var (taken, lost) = (0, 0)
        for number in 0..<60 {
            if try writer.appendImmediately(block(number)) { taken += 1 } else { lost += 1 }
            // A device delivers in real time, and does not wait for the writer.
            try await Task.sleep(for: .milliseconds(5))
        }
        let summary = try await writer.finish()
        guard summary.writtenFrames == Int64(taken * framesPerBlock) else { throw CocoaError(.fileWriteUnknown) }
        return (taken, lost)
    }

    static func create(_ path: URL) throws -> FileHandle {
        try Data().write(to: path)
        return try FileHandle(forUpdating: path)
    }

    static func format(_ container: Container) throws -> ResolvedFormat {
        try AudioFormat(container: container).resolved(
            for: AudioShape(
                sampleRateHz: rate,
                channelCount: 1,
                bitDepth: 16,
                codecName: "pcm_s16le",
                isLossless: true
            )
        )
    }

    static func block(_ number: Int) throws -> PCMBlock {
        let first = number * framesPerBlock
        let samples = (first..<first + framesPerBlock).map {
            Int16(16_000 * sin(2 * .pi * 440 * Double($0) / Double(rate)))
        }
        return try PCMBlock(samples, sampleRateHz: rate, channelCount: 1)
    }
}
