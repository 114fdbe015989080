import BenchNames
import Conversion
import Glibc
import Media

/// Converts files through Media, one after another, and measures the cost.
struct ConversionList {
    private(set) var figures = Figures()
    private let target: TargetFormat
    private let folder: String
    private let converter: Converter

    init(_ target: TargetFormat, folder: String) {
        self.target = target
        self.folder = folder
        converter = Converter(Converter.Request(format: target.format))
    }

    mutating func convert(_ paths: [String]) throws {
        let start = Stopwatch()
        for (index, path) in paths.enumerated() { try convert(path, as: index) }
        start.stop(&figures)
    }

    mutating func convertStandardInput() throws {
        let start = Stopwatch()
        let output = try opened(path(0), O_RDWR | O_CREAT | O_TRUNC)
        defer { close(output) }
        try convert(from: 0, to: output, "standard input")
        start.stop(&figures)
    }

    mutating func convert(_ path: String, times count: Int) throws {
        let start = Stopwatch()
        for number in 1...max(1, count) {
            try convert(path, as: 0)
            if number == min(100, count) { figures.hundredthKiB = Usage.residentKiB }
        }
        figures.lastKiB = Usage.residentKiB
        start.stop(&figures)
    }

    private mutating func convert(_ path: String, as index: Int) throws {
        let input = try opened(path, O_RDONLY)
        defer { close(input) }
        let output = try opened(self.path(index), O_RDWR | O_CREAT | O_TRUNC)
        defer { close(output) }
        try convert(from: input, to: output, path)
    }

    private mutating func convert(from input: Int32, to output: Int32, _ name: String) throws {
        do {
            let outcome = try converter.run(from: input, to: output)
            figures.files += 1
            figures.frames += outcome.summary.writtenFrames
            figures.bytes += outcome.summary.bytes
        } catch {
            throw Problem("\(name) to \(target.rawValue): \(error)")
        }
    }

    private func path(_ index: Int) -> String { "\(folder)/\(index).\(target.fileExtension)" }

    private func opened(_ path: String, _ flags: Int32) throws -> Int32 {
        let descriptor = open(path, flags | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw Problem("open \(path): \(String(cString: strerror(errno)))") }
        return descriptor
    }
}

/// Measures processor time and wall-clock time since its creation.
private struct Stopwatch {
    private let cpu = Usage.cpuSeconds
    private let wall = ContinuousClock.now

    func stop(_ figures: inout Figures) {
        figures.cpuSeconds = Usage.cpuSeconds - cpu
        figures.wallSeconds = (ContinuousClock.now - wall) / .seconds(1)
        figures.peakKiB = Usage.peakKiB
    }
}
