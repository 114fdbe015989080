import Foundation
import TestSupport

/// The line of JSON that a measured program prints at its end: `floor` and `bench-ours` print the same fields.
struct Figures: Decodable {
    /// Completed conversions.
    let files: Int
    /// Frames in all outputs together.
    let frames: Int
    /// Bytes in all outputs together.
    let bytes: Int
    /// User and system time of the conversions, without the start of the program.
    let cpuSeconds: Double
    /// The same in wall-clock time.
    let wallSeconds: Double
    /// The program's peak memory, by its own high-water mark.
    let peakKiB: Int
    /// Resident memory after the hundredth conversion and after the last, if one file is converted repeatedly.
    let hundredthKiB: Int?
    let lastKiB: Int?

    init(_ line: Data) throws {
        do {
            self = try JSONDecoder().decode(Figures.self, from: line)
        } catch {
            throw SupportError("read the figures of a measured program", String(decoding: line, as: UTF8.self))
        }
    }
}
