import Foundation

/// Runs the code of docs/library.md: `guide SOURCE DESTINATION PRESET`.
@main struct Guide {
    static func main() async throws {
        let words = CommandLine.arguments
        let sound = try await measure(words[1])
        print("read: \(sound.frames) frames, peak \(String(format: "%.3f", sound.peak))")
        print("converted: \(try convert(words[1], to: words[2], preset: words[3])) frames")
    }
}
