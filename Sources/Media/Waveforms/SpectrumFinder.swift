import Conversion

/// Finds the frequencies of sound over time. A sine with the amplitude of full scale has the power 1.
final class SpectrumFinder: SoundAnalysis {
    private(set) var frames: Int64 = 0
    let channelCount: Int
    /// A column has the rows of the first channel, from above, then those of the next.
    private(set) var overview: SpectrumOverview

    private let shape: SampleShape
    private let transform: RealTransform
    /// The factors of the samples that are transformed together.
    private let window: [Float]
    /// What makes a power of 1 of a sine at full scale.
    private let unit: Float
    private let bands: [FrequencyRows.Band]
    /// The samples of the block that is being read.
    private var numbers = ChannelSamples()
    /// The samples of each channel that are still needed, and the frame of the first of them.
    private var samples: [[Float]]
    private var base: Int64
    /// Where the frames begin that the next spectrum stands for.
    private var next: Int64 = 0
    private var spectrum: [Float]
    private var powers: [Float]

    /// The seconds of sound in one spectrum, about: tones and beats can both be told apart.
    private static let windowSeconds = 0.0464
    private static let windowSizes = 256...32_768
    /// Transforming twice as many samples, half of them zeros, shows the level of tones between two frequencies more exactly.
    private static let padding = 2
    /// Spectra in the time of a window, at first.
    private static let overlap = 16

    /// All blocks have this rate and number of channels. `splits` keeps the channels apart. `columns` are those that the
    /// picture has, `rows` the rows of each channel.
    init(of shape: SampleShape, splits: Bool, columns: Int, _ rows: FrequencyRows) throws {
        self.shape = shape
        channelCount = splits ? shape.channelCount : 1
        let size = Self.windowSize(at: shape.sampleRateHz)
        transform = try RealTransform.open(size: size * Self.padding)
        // A raised cosine (Hann).
        let window = (0..<size).map { index -> Float in
            let part = (Double(index) + 0.5) / Double(size)
            return Float((1 - Exponent.turn(part).x) / 2)
        }
        self.window = window
        let sum: Float = window.reduce(0, +) / 2
        unit = 1 / (sum * sum)
        bands = rows.bands(in: size * Self.padding / 2 + 1)
        overview = SpectrumOverview(
            rows: rows.count * channelCount,
            capacity: 2 * columns,
            framesPerColumn: size / Self.overlap
        )
        // Before the sound there is silence.
        base = -Int64(size)
        samples = [[Float]](repeating: [Float](repeating: 0, count: size), count: channelCount)
        spectrum = [Float](repeating: 0, count: rows.count * channelCount)
        powers = [Float](repeating: 0, count: size * Self.padding / 2 + 1)
    }

    /// A power of two.
    static func windowSize(at rate: Int) -> Int {
        let wanted = Double(rate) * windowSeconds
        var size = windowSizes.lowerBound
        while size < windowSizes.upperBound, Double(size) * 1.5 < wanted { size *= 2 }
        return size
    }

    func add(_ block: borrowing SampleBlock) throws {
        let count = block.frameCount
        guard count > 0, block.channelCount == shape.channelCount else { return }
        frames += Int64(count)
        read(block, count)
        findSpectra(until: .max)
    }

    func finish() throws {
        // Behind the sound there is silence, too.
        for channel in samples.indices { samples[channel] += [Float](repeating: 0, count: 2 * window.count) }
        findSpectra(until: frames)
        overview.finish()
    }

    /// The frames from one spectrum to the next.
    private var step: Int { min(overview.framesPerColumn, window.count / 2) }

    /// Finds all spectra that begin before `end` and for which there are enough samples.
    private func findSpectra(until end: Int64) {
        while next < end {
            // The window lies around the middle of the frames that it stands for.
            let start = Int(next - base) + step / 2 - window.count / 2
            guard start + window.count <= samples[0].count else { break }
            for channel in samples.indices { findSpectrum(of: channel, from: start) }
            let step = self.step
            overview.add(spectrum, of: overview.framesPerColumn / step)
            next += Int64(step)
        }
        forget()
    }

    /// Gives up samples that no further window needs.
    private func forget() {
        let needed = Int(next - base) - window.count
        guard needed >= 4 * window.count else { return }
        for channel in samples.indices { samples[channel].removeFirst(needed) }
        base += Int64(needed)
    }

    private func findSpectrum(of channel: Int, from start: Int) {
        transform.run { padded in
            // The zeros behind the samples stay what they are.
            samples[channel].withUnsafeBufferPointer { samples in
                window.withUnsafeBufferPointer { window in
                    var index = 0
                    while index < window.count {
                        padded[index] = samples[start &+ index] * window[index]
                        index &+= 1
                    }
                }
            }
        } _: { values in
            powers.withUnsafeMutableBufferPointer { powers in
                var index = 0
                while index < powers.count {
                    let (real, imaginary) = (values[2 &* index], values[2 &* index &+ 1])
                    powers[index] = (real * real + imaginary * imaginary) * unit
                    index &+= 1
                }
                // These frequencies have no mirror image.
                powers[0] /= 4
                powers[powers.count - 1] /= 4
            }
        }
        let first = channel * bands.count
        powers.withUnsafeBufferPointer { powers in
            for (row, band) in bands.enumerated() { spectrum[first + row] = band.level(in: powers) }
        }
    }

    /// Adds the samples of a block, or the means of its channels.
    private func read(_ block: borrowing SampleBlock, _ count: Int) {
        let place = samples[0].count
        for channel in samples.indices { samples[channel] += [Float](repeating: 0, count: count) }
        let share = channelCount < shape.channelCount ? 1 / Float(shape.channelCount) : 1
        numbers.fill(from: block)
        for (channel, source) in numbers.channels.enumerated() {
            samples[channelCount == 1 ? 0 : channel].withUnsafeMutableBufferPointer { target in
                source.withUnsafeBufferPointer { source in
                    var index = 0
                    while index < source.count {
                        target[place &+ index] += Self.bounded(source[index]) * share
                        index &+= 1
                    }
                }
            }
        }
    }

    /// One sample that is not a number, or is enormous, would hide everything else in its window.
    @inline(__always)
    private static func bounded(_ sample: Double) -> Float {
        sample.isNaN ? 0 : Float(min(max(sample, -16), 16))
    }
}
