/// What only MP4 and its relatives have: an index of all packets, apart from them, and edit lists.
protocol MovieRules: Sendable {
    /// A file whose long sample tables are read here and not by libav; `nil` if libav reads the whole file.
    func plainMovie(in source: ByteSource, _ limits: SampleTableRules) throws -> PlainMovie?

    /// The duration of the last sample of a movie in fragments, in ticks of the track with this number, if that sample alone
    /// is shorter; else `nil`. The source has been read to its end.
    func lastDuration(ofTrack id: Int, in source: ByteSource) -> Int64?

    /// Where the fragments lie before which others are missing by their numbers. Of a pipe, those that have passed.
    func fragmentsBehindGaps(in source: ByteSource) -> [Range<Int64>]

    /// Whether a mark in the first packet means `priming` frames that nothing else states.
    func obeysMark(of priming: Int, in track: Track) -> Bool
}
