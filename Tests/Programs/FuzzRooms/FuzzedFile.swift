import Conversion
import FuzzSignals
import Glibc
import Media
import PumpRoom
import RoomProgram

/// A file in memory, and everything that a room does with a file. Confined to one thread.
final class FuzzedFile: @unchecked Sendable {
    /// The only instance of the process; libFuzzer calls it on its single thread.
    static let shared = FuzzedFile()

    /// Error codes that would be our own fault or have no identifiable cause.
    private static let forbidden: Set<FailureCode> = [
        .sourceIO, .destinationIO, .diskFull, .frameCountMismatch, .writerFailed, .alreadyFinished, .verifyMismatch,
        .cancelled,
    ]
    /// High enough that no honest input of a few kilobytes reaches them, and low enough that every input ends soon.
    private static let limits = Recipe.Limits(outputBytes: 32 << 20, decodedSeconds: 300, cpuSeconds: 4)

    private let source = FuzzedFile.memoryFile("source")
    private let destination = FuzzedFile.memoryFile("destination")

    private init() {
        _ = RoomLibraries.loaded.versions
        ProcessMemory.prepareForManyConversions()
    }

    private static func memoryFile(_ name: String) -> Int32 {
        let file = fuzz_memory_file(name)
        guard file >= 0 else { fatalError("no memory file: \(errno)") }
        return file
    }

    /// Probes, scans and converts `bytes`. A hash of the bytes chooses the options, so a replay does the same.
    ///
    /// Ends the process if the result is one that a room must never report.
    func verdict(on bytes: UnsafeRawBufferPointer) -> String {
        let choice = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } >> 20
        fill(with: bytes)
        let probe = outcome { () throws(Failure) -> String in
            let marking = choice & 4 == 0 ? PointRules() : nil
            let report = try SourceProbe(nameHint: nil, limits: Self.limits)
                .describe(source, scanning: choice & 1 == 0, marking: marking, fitting: choice & 2 == 0)
            if let points = report.points { Self.check(points) }
            return "\(report.container) of \(report.tracks.count) tracks"
        }
        let (name, recipe) = recipe(choice >> 1)
        let conversion = outcome { () throws(Failure) -> String in
            guard ftruncate(destination, 0) == 0, lseek(destination, 0, SEEK_SET) == 0 else { fatalError("\(errno)") }
            let report = try RecipeConversion(recipe).run(from: source, to: destination)
            guard report.plannedFrames == report.writtenFrames else {
                fatalError("\(report.writtenFrames) frames of \(report.plannedFrames) were called a success")
            }
            return "\(report.writtenFrames) frames"
        }
        return "\(probe); \(name), \(recipe.damage.rawValue): \(conversion)"
    }

    /// Ends the process if a point lies outside the sound or before the one in front of it.
    private static func check(_ report: PointReport) {
        var last: Int64 = 0
        for point in report.points {
            guard (last...report.frames).contains(point.frame), (point.frame...report.frames).contains(point.end) else {
                fatalError("\(point.kind) of \(point.frames) frames at \(point.frame), of \(report.frames) frames")
            }
            last = point.frame
        }
    }

    private func fill(with bytes: UnsafeRawBufferPointer) {
        guard ftruncate(source, 0) == 0, pwrite(source, bytes.baseAddress, bytes.count, 0) == bytes.count,
            lseek(source, 0, SEEK_SET) == 0
        else { fatalError("the input cannot be kept: \(errno)") }
    }

    private func recipe(_ choice: UInt64) -> (String, Recipe) {
        let outputs: [(String, (inout Recipe) -> Void)] = [
            ("out.wav", { _ in }),
            ("out.flac", { $0.verify = true }),
            ("out.mka", { $0.outputs[0].format = AudioFormat(container: .mka, codec: .copy) }),
            ("out.m4a", { $0.outputs[0].format = AudioFormat(container: .m4a, codec: .copy) }),
            ("out.wav", { $0.sources[0].ranges = [Self.range(1, 3), Self.range(0, 2)] }),
            ("out.mp3", { _ in }),
        ]
        let (name, change) = outputs[Int(choice % UInt64(outputs.count))]
        var recipe = Recipe(from: .init(location: "source"), to: .init(location: name))
        recipe.damage = DamageMode.allCases[Int(choice / 6 % UInt64(DamageMode.allCases.count))]
        recipe.limits = Self.limits
        change(&recipe)
        return (name, recipe)
    }

    /// A range in hundredths of a second.
    private static func range(_ start: Int64, _ end: Int64) -> MediaTimeRange {
        let times = (MediaTime(value: start, timescale: 100), MediaTime(value: end, timescale: 100))
        guard let range = try? MediaTimeRange(start: times.0, end: times.1) else {
            preconditionFailure("the ranges above end after they begin")
        }
        return range
    }

    /// The result of a task, or the code of its failure. Ends the process if the code or stage is not allowed.
    private func outcome(_ task: () throws(Failure) -> String) -> String {
        do throws(Failure) {
            return try task()
        } catch {
            guard let code = FailureCode(rawValue: error.code), !Self.forbidden.contains(code) else {
                fatalError("a failure that no file may cause: \(error)")
            }
            guard Failure.Stage(rawValue: error.stage) != nil else { fatalError("no stage: \(error)") }
            return error.code
        }
    }
}
