import Conversion
import Glibc
import Media
import TestSupport

/// Reads each file as the commands would and prints the results, one line per file; with `--steps wav,copy` only those
/// steps. For tests of malicious numbers and sizes, which must run in the build that users run.
enum FileReading {
    static func run(_ words: [String]) throws {
        let steps = ChosenSteps(
            names: words.first == "--steps" ? Set(words.dropFirst().first?.split(separator: ",") ?? []) : nil
        )
        let paths = steps.names == nil ? words[...] : words.dropFirst(2)
        guard !paths.isEmpty else {
            print("usage: media-program read [--steps STEP,...] FILE...")
            exit(64)
        }
        let folder = try TemporaryFolder.create()
        let output = try OpenFile.creating(folder.path("output"))
        for path in paths {
            say("\(path) ")
            say("\(try steps.readAll(of: path, into: output.descriptor))\n")
        }
    }

    /// Writes without buffering: if a step crashes, the output so far names the file that caused it.
    private static func say(_ words: String) {
        let bytes = Array(words.utf8)
        _ = write(1, bytes, bytes.count)
    }
}

/// The steps to take with each file.
private struct ChosenSteps {
    /// `nil` means all steps.
    let names: Set<Substring>?

    /// Large enough for every small file, and small enough that every file ends soon.
    private static let budget = Budget(
        outputBytes: 64 << 20,
        decodedSeconds: 60,
        expansionRatio: 2_000,
        cpuSeconds: 5
    )

    /// The results of the steps with one file, on one line. `output` is a file to write to, emptied before each use.
    func readAll(of path: String, into output: Int32) throws -> String {
        let source = try OpenFile.reading(path)
        func reader(_ damage: DamageMode) throws -> Reader {
            try Reader(
                descriptor: source.descriptor,
                options: .init(nameHint: path, damage: damage, checksDigest: true)
            )
        }
        var words: [String?] = []
        words.append(
            try step("probe") {
                let track = try reader(.strict).description.tracks.first
                return track?.plausibleFrames.map { "\($0)" } ?? "unknown"
            }
        )
        words.append(
            try step("presets") {
                let reader = try reader(.strict)
                let fits = Converter.presets(for: try reader.track())
                return "\(fits.count { $0.compatibility.forecast != nil })"
            }
        )
        for damage in DamageMode.allCases {
            words.append(
                try step("scan-\(damage.rawValue)") {
                    let reader = try reader(damage)
                    let track = try reader.track()
                    let output = try reader.samples(of: track)
                    let watch = BudgetWatch(
                        Self.budget,
                        track: track,
                        sourceBytes: reader.sourceBytes,
                        since: BudgetWatch.now()
                    )
                    var block = try SampleBlock()
                    while try output.next(into: &block) {
                        try watch.check(frames: output.deliveredFrames, rate: track.sampleRateHz)
                    }
                    return "\(output.deliveredFrames)"
                }
            )
        }
        let formats: [(String, AudioFormat)] = [
            ("wav", AudioFormat(container: .wav)), ("copy", AudioFormat(container: .mka, codec: .copy)),
            ("opus", AudioFormat(container: .ogg, codec: .opus)),
        ]
        for (name, format) in formats {
            words.append(
                try step(name) {
                    guard ftruncate(output, 0) == 0 else { throw SupportError("empty the output", errno: errno) }
                    var request = Converter.Request(format: format, damage: .conceal, nameHint: path)
                    request.budget = Self.budget
                    return "\(try Converter(request).run(from: source.descriptor, to: output).summary.writtenFrames)"
                }
            )
        }
        return words.compactMap(\.self).joined(separator: " ")
    }

    /// The result of a step and its processor time in hundredths of a second: `probe=44100:1`; `nil` if it is not
    /// chosen.
    private func step(_ name: String, _ work: () throws -> String) throws -> String? {
        if let names, !names.contains(name[...]) { return nil }
        let start = Self.seconds()
        var word: String
        do {
            word = try work()
        } catch let error as MediaError {
            word = error.code.rawValue
        } catch is FormatRefusal {
            word = "refused"
        }
        let hundredths = Int((Self.seconds() - start) * 100)
        return "\(name)=\(word):\(hundredths)"
    }

    /// The processor time of this thread.
    private static func seconds() -> Double {
        var now = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now)
        return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
    }
}
