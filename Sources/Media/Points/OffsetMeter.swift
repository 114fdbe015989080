import Conversion

/// The mean of the samples of one channel.
struct OffsetMeter {
    private var sum = 0.0
    private var count: Int64 = 0

    mutating func add(_ samples: [Double]) {
        // The sum of a block of integers is exact. What is not a number is left out.
        var part = 0.0
        for sample in samples where sample.isFinite { part += sample }
        sum += part
        count += Int64(samples.count)
    }

    var mean: Double { count > 0 ? sum / Double(count) : 0 }
}
