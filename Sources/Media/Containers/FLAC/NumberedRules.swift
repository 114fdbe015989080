/// What only a bare stream of FLAC has: nothing but frames, each with its number.
protocol NumberedRules: Sendable {
    func numbers(of stream: InputStream, _ track: Track) -> FrameNumbers
}
