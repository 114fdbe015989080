extension SampleBlock {
    /// Lends one plane of planar floats for writing; the memory must not leave the closure.
    mutating func withFloats(_ plane: Int, _ body: (UnsafeMutableBufferPointer<Float>) -> Void) {
        withMutablePlane(plane) { bytes in body(bytes.bindMemory(to: Float.self)) }
    }

    /// Adds the planar floats of `other`, which has the same shape and length.
    mutating func add(_ other: borrowing SampleBlock) {
        for plane in 0..<planeCount {
            other.withPlane(plane) { added in
                let added = added.bindMemory(to: Float.self)
                withFloats(plane) { sum in
                    for index in sum.indices { sum[index] += added[index] }
                }
            }
        }
    }

    /// Copies planar floats: `count` frames of `other`, from its frame `start` on, to frame `place` of this block.
    mutating func copyFloats(of other: borrowing SampleBlock, from start: Int, count: Int, to place: Int) {
        for plane in 0..<planeCount {
            other.withPlane(plane) { source in
                let source = source.bindMemory(to: Float.self)
                withFloats(plane) { target in
                    for index in 0..<count { target[place + index] = source[start + index] }
                }
            }
        }
    }

    /// Puts the frames of planar floats into the opposite order.
    mutating func reverseFloats() {
        for plane in 0..<planeCount {
            withFloats(plane) { samples in
                for index in 0..<samples.count / 2 { samples.swapAt(index, samples.count - 1 - index) }
            }
        }
    }
}
