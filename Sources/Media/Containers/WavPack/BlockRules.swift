/// What only WavPack needs: behind damaged blocks, libav finds no other by itself.
protocol BlockRules: Sendable {
    /// Where reading can continue after the damaged data at `place`; `nil` if nothing follows.
    func nextStart(in source: ByteSource, behind place: Int64) -> Int64?
}
