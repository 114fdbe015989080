import Conversion

/// A container's length and priming for one track, where libav 5.1 reads them wrong, rounded or not at all.
struct ContainerFacts {
    /// Priming frames that libav does not drop.
    var primingFrames: Int?
    /// Priming frames that libav drops.
    var droppedFrames: Int?
    /// Padding frames after the sound.
    var paddingFrames: Int?
    /// Frames of sound between priming and padding.
    var soundFrames: Int64?
    /// How far `soundFrames` may exceed the true length without a loss.
    var tolerance: Int64 = 0
    /// Whether to cut the sound at `soundFrames`, whatever libav says about the packets.
    var isCutAtLength = false
    /// Whether other streams follow this one in the source, whose length then is not known.
    var hasFollowers = false
    /// Whether only the packets show where the sound ends. The sound is then not cut at `soundFrames`.
    var endsWithItsPackets = false
    /// Whether the stream may be longer than its start shows.
    var isOpenEnded = false
    /// Whether the source is an excerpt of a longer stream. The totals in the codec's header then do not apply.
    var isExcerpt = false
    /// The order in which parts of the packets are played, if they are not all played once. It says the length.
    var edits: EditedTime?
    /// Why the sound cannot be read as the container plays it.
    var refusal: Refusal?
    /// A remark about a length that the container states and that does not count.
    var remark: Remark?

    /// Why sound cannot be read as its container plays it.
    struct Refusal: Sendable, Hashable {
        let code: FailureCode
        let stage: Failure.Stage
        let detail: String
        var hint: String?

        /// The edit list asks for what cannot be played.
        static func editList(_ detail: String) -> Refusal {
            Refusal(code: .unsupportedEditList, stage: .probe, detail: detail)
        }
    }

    /// What the container of `demuxer` says about `stream`; `nil` if libav is right.
    static func read(_ demuxer: Demuxer, _ stream: InputStream) -> ContainerFacts? {
        switch demuxer.extent?.meaning {
        case .unknown, .ignored: ContainerFacts(isOpenEnded: true)
        case .wrapped(let bytes):
            stream.isPCM && stream.blockAlign > 0
                ? ContainerFacts(soundFrames: bytes / Int64(stream.blockAlign), isCutAtLength: true)
                : ContainerFacts(isOpenEnded: true)
        case .counted, nil: demuxer.rules.facts(of: stream, in: demuxer)
        }
    }
}
