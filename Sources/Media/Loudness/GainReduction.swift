/// The course of a limiter's gain: it falls before a peak, is low enough at the peak, and recovers after it.
///
/// A reduction is the part of the amplitude that is taken away, in whole numbers: sums of them have no rounding errors,
/// so the gain returns to exactly 1.
///
/// The wanted reductions pass through three steps. The first holds each for the whole window around its frame. The
/// second lets it decay slowly. The third smooths the result with two moving averages, which together are as long as
/// the window: every value in an average then belongs to a window with the frame in it, and is at least what the frame
/// needs.
struct GainReduction {
    /// A reduction to silence.
    static let whole: Int64 = 1 << 30

    /// How many frames later a frame's reduction comes out: twice the look-ahead.
    let delay: Int
    private let lookAhead: Int
    /// What is kept per frame while recovering, in units of 2^-32.
    private let decay: Int64

    /// The maximum of the last `2 * lookAhead + 1` values: frame numbers and falling values.
    private var candidates: [(frame: Int, value: Int64)] = []
    private var firstCandidate = 0
    private var frame = 0
    private var recovering: Int64 = 0
    private var first: MovingSum
    private var second: MovingSum

    /// More frames of look-ahead than any common sample rate needs; the sums stay within 64 bits.
    private static let longest = 4_096

    /// `lookAhead` frames before a peak the gain begins to fall. `release` frames after it, two thirds are recovered.
    init(lookAhead: Int, release: Int) {
        self.lookAhead = min(max(1, lookAhead), Self.longest)
        delay = 2 * self.lookAhead
        decay = (1 << 32) - (1 << 32) / Int64(max(1, release))
        first = MovingSum(length: self.lookAhead + 1)
        second = MovingSum(length: self.lookAhead + 1)
    }

    /// Takes the reduction that the next frame needs, and returns that of the frame `delay` frames before, between
    /// 0 and 1.
    mutating func next(_ wanted: Int64) -> Double {
        let held = hold(wanted)
        recovering = max(held, (recovering &* decay) &>> 32)
        let sum = second.next(first.next(recovering))
        return sum == 0 ? 0 : Double(sum) / Double(Self.whole * Int64(first.length) * Int64(second.length))
    }

    private mutating func hold(_ wanted: Int64) -> Int64 {
        defer { frame += 1 }
        while candidates.count > firstCandidate, candidates[candidates.count - 1].value <= wanted {
            candidates.removeLast()
        }
        if wanted > 0 { candidates.append((frame, wanted)) }
        if firstCandidate < candidates.count, candidates[firstCandidate].frame < frame - 2 * lookAhead {
            firstCandidate += 1
        }
        if firstCandidate >= candidates.count {
            candidates.removeAll(keepingCapacity: true)
            firstCandidate = 0
        } else if firstCandidate > 4_096 {
            candidates.removeFirst(firstCandidate)
            firstCandidate = 0
        }
        return candidates.isEmpty ? 0 : candidates[firstCandidate].value
    }

    /// The sum of the last values.
    private struct MovingSum {
        let length: Int
        private var values: [Int64]
        private var place = 0
        private var sum: Int64 = 0

        init(length: Int) {
            self.length = length
            values = [Int64](repeating: 0, count: length)
        }

        mutating func next(_ value: Int64) -> Int64 {
            sum += value - values[place]
            values[place] = value
            place = place + 1 == length ? 0 : place + 1
            return sum
        }
    }
}
