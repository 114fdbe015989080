extension Recipe.Source {
    /// What outputs have of a source.
    public enum Use: String, Sendable, Hashable, Codable, CaseIterable {
        /// Its sound; of the first such source, the tags, pictures and chapters as well.
        case sound
        /// Its tags, pictures and chapters, in place of those of sources with sound.
        case tags
        /// The picture that it is, a JPEG or PNG, as the cover.
        case cover
    }
}

extension Recipe {
    /// The sources with sound, which come first.
    public var soundSources: [Source] { sources.filter { $0.use == .sound } }

    /// The place of the source with this use, of which there is one at most.
    public func place(ofSource use: Source.Use) -> Int? { sources.firstIndex { $0.use == use } }
}
