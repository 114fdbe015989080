import Conversion
import Media
import TestSupport

/// A computed sound in its own WAV file, for tests to convert.
struct Clip {
    let folder: TemporaryFolder
    let path: String

    init(_ signal: Signal, _ format: PCM.SampleFormat = .s16) throws {
        folder = try TemporaryFolder.create()
        path = folder.path("clip.wav")
        try WAVFile.write(signal.pcm(format), to: path)
    }

    /// Converts the clip into a new file next to it and returns the outcome.
    @discardableResult
    func convert(
        _ format: AudioFormat,
        stop: StopSignal = StopSignal(),
        report: Pump.Report? = nil
    ) throws -> Converter.Outcome {
        let source = try OpenFile.reading(path)
        let destination = try OpenFile.creating(folder.path("out.\(format.container.fileExtensions[0])"))
        return try Converter(.init(format: format), stop: stop)
            .run(from: source.descriptor, to: destination.descriptor, report: report)
    }
}
