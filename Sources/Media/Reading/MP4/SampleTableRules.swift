/// When the sample tables of an MP4 are walked here, and how much of them libav is shown all the same.
struct SampleTableRules: Sendable, Hashable {
    /// Samples in a track from which on it pays: libav keeps some seventy bytes for each.
    var leastSamples: Int64 = 200_000
    /// Beyond it, libav's own limits decide what becomes of the file: so many sizes are as much as opening may read.
    var mostSamples: Int64 = 1 << 24
    /// Bytes of the tables of all tracks together: what they take is read more than once.
    var mostTableBytes: Int64 = ByteSource.openingBytes
    /// Samples at the start that libav sees as they are: it describes the stream by them and drops the priming.
    var headSamples: Int64 = 4096
    /// How long they must last: libav looks at five seconds at most.
    var headSeconds: Int64 = 10
    /// Samples at the end that libav sees as they are, for what an edit list says of the end.
    var tailSamples: Int64 = 512
    /// The longest sample that stands for many, in ticks: libav takes some numbers beyond 31 bits for negative ones.
    var longestStandIn: Int64 = 1 << 30

    /// libav reads all tables by itself.
    static let never = SampleTableRules(leastSamples: .max)
}
