import Foundation
import TestSupport

/// What a measured program says of itself at its end, as one line of JSON: the floor and ours say the same.
struct Figures: Decodable {
    /// Conversions that were done.
    let files: Int
    /// Frames in all outputs together.
    let frames: Int
    /// Bytes in all outputs together.
    let bytes: Int
    /// User and system time of the conversions, without the program's own start.
    let cpuSeconds: Double
    /// The same on the wall's clock.
    let wallSeconds: Double
    /// The most memory the program had at once, by its own high-water mark.
    let peakKiB: Int
    /// Resident memory after the hundredth conversion and after the last, where one is done again and again.
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
