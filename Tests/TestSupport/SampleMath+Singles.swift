extension SampleMath {
    /// Whether `one` and `other` have the same samples, or the same samples in `range`, which both must have.
    public static func areEqual(_ one: [Float], _ other: [Float], in range: Range<Int>? = nil) -> Bool {
        guard let range else { return one == other }
        return one[range] == other[range]
    }

    /// Whether `whole` begins with the samples of `part`, of which the last few may be left out.
    public static func isPrefix(_ part: [Float], of whole: [Float], leavingOut last: Int = 0) -> Bool {
        let count = max(0, part.count - last)
        return count <= whole.count && part[..<count] == whole[..<count]
    }

    /// Whether `one` is the first `count` samples of `other` in reverse order.
    public static func isReverse(_ one: [Float], of other: [Float], count: Int) -> Bool {
        guard one.count == count, other.count >= count else { return false }
        return one.withUnsafeBufferPointer { one in
            other.withUnsafeBufferPointer { other in
                var frame = 0
                while frame < count {
                    if one[frame] != other[count &- 1 &- frame] { return false }
                    frame &+= 1
                }
                return true
            }
        }
    }

    /// Whether all samples in `range` are zero.
    public static func isSilent(_ samples: [Float], in range: Range<Int>) -> Bool {
        samples[range].allSatisfy { $0 == 0 }
    }

    /// The greatest absolute difference of `count` samples of `one` from `start` on and of `other` from `otherStart` on;
    /// infinity if a difference is not a number, or if there are fewer samples.
    public static func greatestDifference(
        _ one: [Float],
        from start: Int = 0,
        _ other: [Float],
        from otherStart: Int = 0,
        count: Int
    ) -> Float {
        guard count >= 0, start >= 0, start + count <= one.count, otherStart >= 0, otherStart + count <= other.count
        else { return .infinity }
        return one.withUnsafeBufferPointer { one in
            other.withUnsafeBufferPointer { other in
                var greatest: Float = 0
                var frame = 0
                while frame < count {
                    let difference = (one[start &+ frame] - other[otherStart &+ frame]).magnitude
                    if difference > greatest { greatest = difference }
                    if difference.isNaN { return .infinity }
                    frame &+= 1
                }
                return greatest
            }
        }
    }

    /// The normalised correlation of `one` from `start` on and of the samples of `other` in `range`: 1 for the same sound,
    /// about 0 for noise that is shifted by one frame; 0 if either is silent or has fewer samples.
    public static func fit(_ one: [Float], from start: Int, _ other: [Float], in range: Range<Int>) -> Float {
        guard start >= 0, start + range.count <= one.count, range.lowerBound >= 0, range.upperBound <= other.count
        else { return 0 }
        return one.withUnsafeBufferPointer { one in
            other.withUnsafeBufferPointer { other in
                var (product, mine, theirs): (Float, Float, Float) = (0, 0, 0)
                var frame = 0
                while frame < range.count {
                    let (first, second) = (one[start &+ frame], other[range.lowerBound &+ frame])
                    product += first * second
                    mine += first * first
                    theirs += second * second
                    frame &+= 1
                }
                return mine > 0 && theirs > 0 ? product / (mine * theirs).squareRoot() : 0
            }
        }
    }
}
