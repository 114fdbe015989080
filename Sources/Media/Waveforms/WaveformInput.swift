public import Conversion

/// What a waveform should be.
public struct WaveformRequest: Sendable, Hashable {
    public var kind: Recipe.Waveform.Kind
    public var settings: Recipe.Waveform

    public init(_ kind: Recipe.Waveform.Kind, _ settings: Recipe.Waveform = Recipe.Waveform()) {
        (self.kind, self.settings) = (kind, settings)
    }
}

/// Takes the samples of a conversion and writes their peaks.
final class WaveformInput: SampleReceiver {
    private let request: WaveformRequest
    private let sink: ByteSink
    /// The shape of an output without frames.
    private let usual: SampleShape
    private let store: Store
    private var peaks: ShapedPeaks?

    private enum Store {
        case file(PeakFile), picture(PeakOverview)

        var peakStore: any PeakStore {
            switch self {
            case .file(let file): file
            case .picture(let overview): overview
            }
        }
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
        case .svg, .png:
            let width = settings.width ?? Recipe.Waveform.usualWidth
            store = .picture(PeakOverview(capacity: 2 * WaveformInput.windowsPerColumn * width))
        }
    }

    var writtenBytes: Int64 { sink.size }

    func append(_ block: inout SampleBlock) throws {
        guard let shape = block.shape, block.frameCount > 0 else { return }
        try translating(at: .encode) { try begun(shape).add(&block) }
    }

    private func begun(_ shape: SampleShape) throws -> ShapedPeaks {
        if let peaks { return peaks }
        let new = try ShapedPeaks(shape, splits: request.settings.splitsChannels, into: store.peakStore)
        peaks = new
        return new
    }

    /// What a waveform shows, once it is complete.
    struct Summary {
        let report: WaveformReport
        /// The samples that it shows.
        let shape: SampleShape
        let frames: Int64
        let bytes: Int64
    }

    func finish() throws -> Summary {
        try translating(at: .finish) {
            let peaks = try begun(usual)
            try peaks.finish()
            let settings = request.settings
            var report = WaveformReport(channelCount: peaks.channelCount)
            switch store {
            case .file(let file):
                try file.finish()
                report.length = file.length
                report.samplesPerPixel = file.framesPerPair
                report.bits = settings.bits ?? 8
            case .picture(let overview):
                let picture = WaveformPicture(overview.peaks, frames: peaks.frames, settings)
                if request.kind == .png { try picture.writePNG(to: sink) } else { try sink.append(picture.svg) }
                try sink.flush()
                try sink.cutAtEnd()
                (report.width, report.height) = (picture.width, picture.height)
            }
            return Summary(report: report, shape: peaks.shape, frames: peaks.frames, bytes: sink.size)
        }
    }

    private func translating<Result>(at stage: Failure.Stage, _ step: () throws -> Result) throws -> Result {
        do {
            return try step()
        } catch let error as LibAVError {
            if sink.failure != nil {
                throw MediaError(error, .destinationIO, at: .write, "the waveform cannot be written")
            }
            throw MediaError(error, .resampleFailed, at: stage, "the peaks cannot be computed")
        }
    }
}

/// Finds peaks in blocks of any shape. If the rate or the channels change midway, the sound is converted to those of its
/// beginning, so that all windows are equally long.
private final class ShapedPeaks {
    let shape: SampleShape
    private let finder: PeakFinder
    private var carrier: Carrier?

    private final class Carrier {
        var converter: FormatConverter

        init(to shape: SampleShape) throws { converter = try FormatConverter(to: shape) }
    }

    init(_ shape: SampleShape, splits: Bool, into store: any PeakStore) throws {
        self.shape = shape
        finder = try PeakFinder(of: shape, splits: splits, into: store)
    }

    var channelCount: Int { finder.channelCount }
    var frames: Int64 { finder.frames }

    func add(_ block: inout SampleBlock) throws {
        guard let other = block.shape else { return }
        let fits = other.sampleRateHz == shape.sampleRateHz && other.channelCount == shape.channelCount
        if fits, carrier == nil { return try finder.add(block) }
        var floats = shape
        floats.format = .f32
        let used = try carrier ?? Carrier(to: floats)
        carrier = used
        try used.converter.convert(&block) { try finder.add($0) }
    }

    func finish() throws {
        if let carrier { try carrier.converter.drain { try finder.add($0) } }
        try finder.finish()
    }
}
