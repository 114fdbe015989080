package import Conversion

/// The settings that a worker's decisions depend on.
package struct WorkerSettings: Sendable, Hashable {
    /// The number of simultaneous conversions.
    package var slots: Int
    /// How many jobs a slot works on at once while jobs are short: one converts, the others are being prepared.
    package var pipelinesPerSlot: Int
    /// How much work to claim ahead for each slot.
    package var workAhead: Duration
    /// The largest number of finished jobs that may wait to be published or reported.
    package var unpublishedLimit: Int
    /// The largest number of jobs in one call to the ledger.
    package var groupLimit: Int
    /// How long the worker keeps its jobs while the ledger does not answer.
    package var outageLimit: Duration
    /// How long a pause lasts. The length doubles each time, up to `longestPause`.
    package var firstPause: Duration
    package var longestPause: Duration
    /// The names of the worker's roots.
    package var roots: [String]
    /// The codecs that the worker can write.
    package var codecs: Set<Codec>
    /// The formats of sources that the worker may read.
    package var formats: Set<SourceFormat>
    /// The major version of libavcodec; `nil` if jobs cannot ask for it.
    package var libav: Int?
    /// Whether the worker ends once it holds no job and a claim has found none.
    package var endsWhenIdle: Bool
    /// Spreads out what many workers would otherwise do at the same time.
    package var seed: UInt64

    package init(
        slots: Int,
        pipelinesPerSlot: Int,
        workAhead: Duration,
        unpublishedLimit: Int,
        groupLimit: Int,
        outageLimit: Duration,
        firstPause: Duration,
        longestPause: Duration,
        roots: [String],
        codecs: Set<Codec>,
        formats: Set<SourceFormat> = [],
        libav: Int? = nil,
        endsWhenIdle: Bool = false,
        seed: UInt64
    ) {
        self.slots = slots
        self.pipelinesPerSlot = pipelinesPerSlot
        self.workAhead = workAhead
        self.unpublishedLimit = unpublishedLimit
        self.groupLimit = groupLimit
        self.outageLimit = outageLimit
        self.firstPause = firstPause
        self.longestPause = longestPause
        self.roots = roots
        self.codecs = codecs
        self.formats = formats
        self.libav = libav
        self.endsWhenIdle = endsWhenIdle
        self.seed = seed
    }
}
