extension Recipe {
    /// How often a conversion reads its sources before it writes anything: once to find the silence that is left out,
    /// once to measure the loudness, and once to measure what the tags for players state.
    public var earlyPasses: Int {
        let findsSilence = timeline?.tracks.contains { $0.pieces.contains { $0.trimSilence != nil } } ?? false
        return [
            findsSilence, outputs.contains { $0.loudness != nil }, outputs.contains { $0.replayGain != nil },
        ].count { $0 }
    }

    /// Whether an output depends on the loudness of all jobs of the batch together.
    public var belongsToAlbum: Bool {
        outputs.contains { $0.loudness?.scope == .album || $0.replayGain == .album }
    }
}
