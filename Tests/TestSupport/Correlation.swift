import Glibc

/// Finds the lag at which two signals match best, by normalised cross-correlation in the frequency domain.
struct Correlation {
    /// The greatest lag considered, in frames, in either direction.
    let limit: Int

    /// The number of blocks of the reference to compare. The loudest are enough, and the limit bounds the cost.
    private let blockCount = 8

    /// How many frames `signal` lags behind `reference`, or `nil` if either is silent.
    func bestLag(of signal: [Double], against reference: [Double]) -> Int? {
        var size = 32_768
        while size < 4 * limit { size *= 2 }
        let blockFrames = size - 2 * limit
        let lagCount = 2 * limit + 1

        // Sums over all blocks: the cross spectrum, and the energy under the block at each lag.
        var crossReal = [Double](repeating: 0, count: size)
        var crossImaginary = crossReal
        var energies = [Double](repeating: 0, count: lagCount)
        let transform = FourierTransform(size: size)
        for start in loudestBlocks(of: reference, frames: blockFrames) {
            let count = min(blockFrames, reference.count - start)
            // Both signals are real, so one transform serves both: the reference is the real part, the signal the
            // imaginary one.
            var real = [Double](repeating: 0, count: size)
            var imaginary = real
            real.replaceSubrange(0..<count, with: reference[start..<start + count])
            let first = max(0, start - limit)
            let last = min(signal.count, start + count + limit)
            if first < last {
                let offset = first - (start - limit)
                imaginary.replaceSubrange(offset..<offset + last - first, with: signal[first..<last])
            }
            addEnergies(of: imaginary, blockFrames: count, to: &energies)
            transform.run(&real, &imaginary)
            addCrossSpectrum(real, imaginary, &crossReal, &crossImaginary)
        }
        // The inverse transform is the forward one with real and imaginary parts exchanged.
        transform.run(&crossImaginary, &crossReal)
        return peak(crossReal, energies)
    }

    private func loudestBlocks(of reference: [Double], frames: Int) -> [Int] {
        var blocks: [(start: Int, energy: Double)] = []
        reference.withUnsafeBufferPointer { reference in
            var start = 0
            while start < reference.count {
                let end = min(start + frames, reference.count)
                var energy = 0.0
                var frame = start
                while frame < end {
                    energy += reference[frame] * reference[frame]
                    frame &+= 1
                }
                if energy > 0 { blocks.append((start, energy)) }
                start = end
            }
        }
        return blocks.sorted { $0.energy > $1.energy }.prefix(blockCount).map(\.start)
    }

    private func addEnergies(of window: [Double], blockFrames: Int, to energies: inout [Double]) {
        window.withUnsafeBufferPointer { window in
            energies.withUnsafeMutableBufferPointer { energies in
                var energy = 0.0
                var frame = 0
                while frame < blockFrames {
                    energy += window[frame] * window[frame]
                    frame &+= 1
                }
                var lag = 0
                while lag < energies.count {
                    energies[lag] += energy
                    guard lag + blockFrames < window.count else { break }
                    energy += window[lag &+ blockFrames] * window[lag &+ blockFrames] - window[lag] * window[lag]
                    lag &+= 1
                }
            }
        }
    }

    /// Separates the two spectra and adds conjugate(reference) x signal.
    private func addCrossSpectrum(
        _ real: [Double],
        _ imaginary: [Double],
        _ crossReal: inout [Double],
        _ crossImaginary: inout [Double]
    ) {
        let size = real.count
        real.withUnsafeBufferPointer { real in
            imaginary.withUnsafeBufferPointer { imaginary in
                crossReal.withUnsafeMutableBufferPointer { sumReal in
                    crossImaginary.withUnsafeMutableBufferPointer { sumImaginary in
                        var bin = 0
                        while bin < size {
                            let mirror = (size &- bin) & (size &- 1)
                            let referenceReal = (real[bin] + real[mirror]) / 2
                            let referenceImaginary = (imaginary[bin] - imaginary[mirror]) / 2
                            let signalReal = (imaginary[bin] + imaginary[mirror]) / 2
                            let signalImaginary = (real[mirror] - real[bin]) / 2
                            sumReal[bin] += referenceReal * signalReal + referenceImaginary * signalImaginary
                            sumImaginary[bin] += referenceReal * signalImaginary - referenceImaginary * signalReal
                            bin &+= 1
                        }
                    }
                }
            }
        }
    }

    /// The lag of the best match; of equal matches, the one nearest to zero.
    private func peak(_ products: [Double], _ energies: [Double]) -> Int? {
        // Below this floor a window holds only rounding noise.
        let floor = (energies.max() ?? 0) * 1e-9
        guard floor > 0 else { return nil }
        var best: (lag: Int, fit: Double)?
        for distance in 0...limit {
            for lag in distance == 0 ? [0] : [distance, -distance] {
                let energy = energies[limit + lag]
                guard energy > floor else { continue }
                let fit = products[limit + lag] / sqrt(energy)
                if best.map({ fit > $0.fit + abs($0.fit) * 1e-9 }) ?? true { best = (lag, fit) }
            }
        }
        return best?.lag
    }
}

/// A discrete Fourier transform of one size, a power of two; unscaled.
private struct FourierTransform {
    private let size: Int
    private let cosines: [Double]
    private let sines: [Double]

    init(size: Int) {
        precondition(size > 1 && size & (size - 1) == 0, "the size is a power of two")
        self.size = size
        let step = -2 * Double.pi / Double(size)
        cosines = (0..<size / 2).map { cos(step * Double($0)) }
        sines = (0..<size / 2).map { sin(step * Double($0)) }
    }

    /// Transforms in place.
    func run(_ real: inout [Double], _ imaginary: inout [Double]) {
        real.withUnsafeMutableBufferPointer { realBuffer in
            imaginary.withUnsafeMutableBufferPointer { imaginaryBuffer in
                cosines.withUnsafeBufferPointer { cosineBuffer in
                    sines.withUnsafeBufferPointer { sineBuffer in
                        guard let real = realBuffer.baseAddress, let imaginary = imaginaryBuffer.baseAddress,
                            let cosines = cosineBuffer.baseAddress, let sines = sineBuffer.baseAddress
                        else { return }
                        reorder(real, imaginary)
                        combine(real, imaginary, cosines, sines)
                    }
                }
            }
        }
    }

    /// Moves every value to its bit-reversed index.
    private func reorder(_ real: UnsafeMutablePointer<Double>, _ imaginary: UnsafeMutablePointer<Double>) {
        var reversed = 0
        var index = 1
        while index < size {
            var bit = size >> 1
            while reversed & bit != 0 {
                reversed ^= bit
                bit >>= 1
            }
            reversed |= bit
            if index < reversed {
                let keptReal = real[index]
                real[index] = real[reversed]
                real[reversed] = keptReal
                let keptImaginary = imaginary[index]
                imaginary[index] = imaginary[reversed]
                imaginary[reversed] = keptImaginary
            }
            index &+= 1
        }
    }

    private func combine(
        _ real: UnsafeMutablePointer<Double>,
        _ imaginary: UnsafeMutablePointer<Double>,
        _ cosines: UnsafePointer<Double>,
        _ sines: UnsafePointer<Double>
    ) {
        var half = 1
        while half < size {
            let turn = size / (2 * half)
            var group = 0
            while group < size {
                var offset = 0
                while offset < half {
                    let low = group &+ offset
                    let high = low &+ half
                    let cosine = cosines[offset &* turn]
                    let sine = sines[offset &* turn]
                    let turnedReal = real[high] * cosine - imaginary[high] * sine
                    let turnedImaginary = real[high] * sine + imaginary[high] * cosine
                    real[high] = real[low] - turnedReal
                    imaginary[high] = imaginary[low] - turnedImaginary
                    real[low] += turnedReal
                    imaginary[low] += turnedImaginary
                    offset &+= 1
                }
                group &+= 2 &* half
            }
            half &*= 2
        }
    }
}
