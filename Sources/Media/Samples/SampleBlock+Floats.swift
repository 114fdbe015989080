/// Planar floats of 32 or 64 bits, as a mix holds them.
extension SampleBlock {
    private var holdsDoubles: Bool { shape?.format.interleaved == .f64 }

    /// Lends one plane of planar floats for writing; the memory must not leave the closure.
    mutating func withFloats<Sample: BinaryFloatingPoint>(
        _ plane: Int,
        as _: Sample.Type,
        _ body: (UnsafeMutableBufferPointer<Sample>) -> Void
    ) {
        withMutablePlane(plane) { bytes in body(bytes.bindMemory(to: Sample.self)) }
    }

    /// Adds the planar floats of `other`, which has the same shape and length.
    mutating func add(_ other: borrowing SampleBlock) {
        if holdsDoubles { add(other, Double.self) } else { add(other, Float.self) }
    }

    private mutating func add<Sample: BinaryFloatingPoint>(_ other: borrowing SampleBlock, _: Sample.Type) {
        for plane in 0..<planeCount {
            other.withPlane(plane) { added in
                let added = added.bindMemory(to: Sample.self)
                withFloats(plane, as: Sample.self) { sum in
                    for index in sum.indices { sum[index] += added[index] }
                }
            }
        }
    }

    /// Copies planar floats: `count` frames of `other`, from its frame `start` on, to frame `place` of this block. Both
    /// have the same shape.
    mutating func copyFloats(of other: borrowing SampleBlock, from start: Int, count: Int, to place: Int) {
        let width = shape?.format.bytesPerSample ?? 0
        for plane in 0..<planeCount {
            other.withPlane(plane) { source in
                withMutablePlane(plane) { target in
                    guard count > 0, let from = source.baseAddress, let to = target.baseAddress else { return }
                    (to + place * width).copyMemory(from: from + start * width, byteCount: count * width)
                }
            }
        }
    }

    /// Puts the frames of planar floats into the opposite order.
    mutating func reverseFloats() {
        if holdsDoubles { reverse(Double.self) } else { reverse(Float.self) }
    }

    private mutating func reverse<Sample: BinaryFloatingPoint>(_: Sample.Type) {
        for plane in 0..<planeCount {
            withFloats(plane, as: Sample.self) { samples in
                for index in 0..<samples.count / 2 { samples.swapAt(index, samples.count - 1 - index) }
            }
        }
    }

    /// Multiplies the frames of planar floats with `level` if it is not `nil`, and else each with its own of `gains`.
    /// `pan` has a further factor for each plane.
    mutating func amplify(_ level: Double?, _ gains: UnsafeBufferPointer<Double>, pan: [Float]?) {
        if holdsDoubles { amplify(level, gains, pan, Double.self) } else { amplify(level, gains, pan, Float.self) }
    }

    private mutating func amplify<Sample: BinaryFloatingPoint>(
        _ level: Double?,
        _ gains: UnsafeBufferPointer<Double>,
        _ pan: [Float]?,
        _: Sample.Type
    ) {
        for plane in 0..<planeCount {
            let factor = Sample(pan?[plane] ?? 1)
            withFloats(plane, as: Sample.self) { samples in
                if let level {
                    let whole = Sample(level) * factor
                    if whole == 1 { return }
                    for index in samples.indices { samples[index] *= whole }
                } else {
                    for index in samples.indices { samples[index] *= Sample(gains[index]) * factor }
                }
            }
        }
    }
}
