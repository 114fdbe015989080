/// What only Ogg has: pages, each of one stream. They show losses, and the tags in them belong to their stream.
protocol PagedRules: Sendable {
    /// The pages of the source.
    func pages(of source: ByteSource) -> OggPages
}
