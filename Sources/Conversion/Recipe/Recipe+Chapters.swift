extension Recipe {
    /// A chapter of an output.
    public struct Chapter: Sendable, Hashable, Codable {
        /// Where it begins, in the time of the output.
        public var at: MediaTime
        public var title: String?

        public init(at start: MediaTime, title: String? = nil) { (at, self.title) = (start, title) }

        private enum Field: String, CodingKey, CaseIterable { case at, title }

        /// Decodes strictly.
        public init(from decoder: any Decoder) throws {
            let fields = try StrictFields(decoder, Field.self)
            at = try fields.required(.at)
            title = try fields.optional(.title)
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Field.self)
            try container.encode(at, forKey: .at)
            try container.encodeIfPresent(title, forKey: .title)
        }
    }

    /// Checks that chapters are in the order of time, and that an output can have them.
    func checkChapters() throws(RecipeError) {
        if markSources, timeline == nil {
            throw RecipeError(.valueNotAllowed, at: "recipe.markSources", "needs a timeline")
        }
        guard !chapters.isEmpty else { return }
        guard !isSplit else {
            let reason = "outputs that are parts of the source have those of their parts"
            throw RecipeError(.valueNotAllowed, at: "recipe.chapters", reason)
        }
        guard chapters.count <= ChapterList.most else {
            let reason = "\(chapters.count); allowed: up to \(ChapterList.most)"
            throw RecipeError(.valueNotAllowed, at: "recipe.chapters", reason)
        }
        var last: MediaTime?
        for (index, chapter) in chapters.enumerated() {
            let path = "recipe.chapters[\(index)]"
            guard chapter.at.isNumeric, chapter.at >= .zero else {
                throw RecipeError(.valueNotAllowed, at: "\(path).at", "\(chapter.at) is not a time in the output")
            }
            if let last, chapter.at <= last {
                let reason = "is not after \(last), where the one before begins"
                throw RecipeError(.valueNotAllowed, at: "\(path).at", reason)
            }
            guard (chapter.title?.utf8.count ?? 0) <= ChapterList.longestTitle else {
                let reason = "is longer than \(ChapterList.longestTitle) bytes"
                throw RecipeError(.valueNotAllowed, at: "\(path).title", reason)
            }
            last = chapter.at
        }
    }
}
