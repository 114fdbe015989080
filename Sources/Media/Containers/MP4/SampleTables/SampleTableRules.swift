/// Limits for reading an MP4's sample tables here instead of in libav, and for the part of them that libav still sees.
struct SampleTableRules: Sendable, Hashable {
    /// The number of samples from which this pays off: libav keeps some seventy bytes per sample.
    var leastSamples: Int64 = 200_000
    /// Above this, libav's own limits decide about the file: the sizes alone fill what opening may read.
    var mostSamples: Int64 = 1 << 24
    /// Limit for the tables of all tracks together, in bytes. They are read more than once.
    var mostTableBytes: Int64 = ByteSource.openingBytes
    /// Samples at the start that libav sees unchanged: it describes the stream by them and drops the priming.
    var headSamples: Int64 = 4096
    /// How long those samples must last: libav looks at five seconds at most.
    var headSeconds: Int64 = 10
    /// Samples at the end that libav sees unchanged, for an edit list that ends there.
    var tailSamples: Int64 = 512
    /// The longest stand-in, in ticks: libav treats some numbers beyond 31 bits as negative.
    var longestStandIn: Int64 = 1 << 30

    /// libav reads all tables itself.
    static let never = SampleTableRules(leastSamples: .max)
}
