import Conversion

/// Takes the samples of a conversion and writes their peaks or their spectra.
final class WaveformInput: SampleReceiver {
    private let request: WaveformRequest
    private let sink: ByteSink
    /// The shape of an output without frames.
    private let usual: SampleShape
    private let store: Store
    private var sound: ShapedSound?
    /// `nil` until the shape of the sound is known.
    private var spectrogram: Spectrogram?

    private enum Store { case file(PeakFile), picture(PeakOverview), spectrogram }

    private struct Spectrogram {
        let picture: SpectrogramPicture
        let finder: SpectrumFinder
    }

    /// Windows that a picture keeps for each of its columns, at least.
    private static let windowsPerColumn = 4

    /// `usual` is the shape of the sound if it has no frames. `destination` must be a regular file, open for reading and
    /// writing.
    init(_ request: WaveformRequest, to destination: Int32, usual: SampleShape) throws {
        self.request = request
        self.usual = usual
        sink = try ByteSink(descriptor: destination)
        let settings = request.settings
        switch request.kind {
        case .dat, .json:
            let file = PeakFile(
                framesPerPair: settings.samplesPerPixel ?? Recipe.Waveform.usualZoom,
                bits: settings.bits ?? 8,
                isJSON: request.kind == .json,
                to: sink
            )
            store = .file(file)
        case .png where settings.spectrogram != nil: store = .spectrogram
        case .svg, .png:
            store = .picture(PeakOverview(capacity: 2 * WaveformInput.windowsPerColumn * settings.size.width))
        }
    }

    var writtenBytes: Int64 { sink.size }

    func append(_ block: inout SampleBlock) throws {
        guard let shape = block.shape, block.frameCount > 0 else { return }
        try translating { try begun(shape).add(&block) }
    }

    private func begun(_ shape: SampleShape) throws -> ShapedSound {
        if let sound { return sound }
        let new = ShapedSound(shape, try analysis(of: shape))
        sound = new
        return new
    }

    private func analysis(of shape: SampleShape) throws -> any SoundAnalysis {
        let (settings, splits) = (request.settings, request.settings.splitsChannels)
        switch store {
        case .file(let file): return try PeakFinder(of: shape, splits: splits, into: file)
        case .picture(let overview): return try PeakFinder(of: shape, splits: splits, into: overview)
        case .spectrogram:
            let picture = SpectrogramPicture(
                settings,
                sampleRateHz: shape.sampleRateHz,
                channelCount: splits ? shape.channelCount : 1
            )
            let finder = try SpectrumFinder(of: shape, splits: splits, columns: picture.plot.width, picture.rows)
            spectrogram = Spectrogram(picture: picture, finder: finder)
            return finder
        }
    }

    /// What a waveform shows, once it is complete.
    struct Summary {
        let report: WaveformReport
        /// The samples that it shows.
        let shape: SampleShape
        /// The frames that it must show for its input, and those that it shows.
        let plannedFrames: Int64
        let frames: Int64
        let bytes: Int64
    }

    func finish() throws -> Summary {
        try translating {
            let sound = try begun(usual)
            try sound.finish()
            let settings = request.settings
            var report = WaveformReport(channelCount: sound.channelCount)
            switch store {
            case .file(let file):
                try file.finish()
                report.length = file.length
                report.samplesPerPixel = file.framesPerPair
                report.bits = settings.bits ?? 8
            case .picture(let overview):
                let picture = WaveformPicture(overview.peaks, frames: sound.frames, settings)
                if request.kind == .png { try picture.writePNG(to: sink) } else { try sink.append(picture.svg) }
                try sink.flush()
                try sink.cutAtEnd()
                (report.width, report.height) = (picture.width, picture.height)
            case .spectrogram:
                guard let spectrogram else { break }
                let picture = spectrogram.picture
                try picture.writePNG(spectrogram.finder.overview, frames: sound.frames, to: sink)
                try sink.flush()
                try sink.cutAtEnd()
                (report.width, report.height) = (picture.width, picture.height)
                report.spectrogram = settings.spectrogram
            }
            return Summary(
                report: report,
                shape: sound.shape,
                plannedFrames: sound.plannedFrames,
                frames: sound.frames,
                bytes: sink.size
            )
        }
    }

    private func translating<Result>(_ step: () throws -> Result) throws -> Result {
        do {
            return try step()
        } catch let error as LibAVError {
            if sink.failure != nil {
                throw MediaError(error, .destinationIO, at: .write, "the waveform cannot be written")
            }
            throw MediaError(error, .resampleFailed, at: .resample, "the waveform cannot be computed")
        }
    }
}
