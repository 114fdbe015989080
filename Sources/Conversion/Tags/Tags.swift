/// What a file says about itself beside its sound, independent of its format: names with any number of values, chapters,
/// pictures and lyrics.
///
/// Names are those of `TagTable`. What the table does not have keeps its own name.
public struct Tags: Sendable, Hashable {
    /// The texts, in the order of the file. Each name occurs once.
    public private(set) var texts: [Text] = []
    public var chapters: [Chapter] = []
    public var pictures: [Picture] = []
    public var lyrics: [Lyrics] = []
    /// Entries that are not text and that only their own format understands, byte for byte.
    public var blobs: [Blob] = []
    /// Whether the file has more than its reader takes.
    public var isCut = false

    /// A name and its values, of which there is at least one.
    public struct Text: Sendable, Hashable {
        public let name: TagName
        /// The name in the file, as `TagTable` spells it, and the format of which it is.
        public let native: String
        public let format: TagFormat
        public fileprivate(set) var values: [String]

        /// Whether it is the total that a number states behind a slash.
        public var isBehindNumber: Bool { TagTable.total(behind: native, in: format) == name }
    }

    /// A named stretch of the sound.
    public struct Chapter: Sendable, Hashable {
        public var start: MediaTime
        /// `nil` if the chapter lasts until the next one.
        public var end: MediaTime?
        public var title: String?
        /// The language of the title, as the file states it.
        public var language: String?
        public var link: String?
        public var picture: Picture?

        public init(
            start: MediaTime,
            end: MediaTime? = nil,
            title: String? = nil,
            language: String? = nil,
            link: String? = nil,
            picture: Picture? = nil
        ) {
            (self.start, self.end, self.title) = (start, end, title)
            (self.language, self.link, self.picture) = (language, link, picture)
        }
    }

    /// A picture as stored in the file, never decoded.
    public struct Picture: Sendable, Hashable {
        /// What it shows, by ID3's numbers, which FLAC and Ogg also use: 3 is the front cover, 4 the back.
        public var kind: UInt8
        public var mimeType: String
        public var description: String
        public var bytes: [UInt8]

        public init(kind: UInt8 = 3, mimeType: String, description: String = "", bytes: [UInt8]) {
            (self.kind, self.mimeType) = (kind, mimeType)
            (self.description, self.bytes) = (description, bytes)
        }
    }

    /// Words that are sung or spoken.
    public struct Lyrics: Sendable, Hashable {
        public var language: String?
        public var description: String
        /// Lines without a time are plain text.
        public var lines: [Line]

        /// A line, and where in the sound it begins.
        public struct Line: Sendable, Hashable {
            public var start: MediaTime?
            public var text: String

            public init(_ text: String, at start: MediaTime? = nil) { (self.text, self.start) = (text, start) }
        }

        public init(_ lines: [Line], language: String? = nil, description: String = "") {
            (self.lines, self.language, self.description) = (lines, language, description)
        }
    }

    /// An entry that is not text.
    public struct Blob: Sendable, Hashable {
        public var name: TagName
        public var bytes: [UInt8]

        public init(_ name: TagName, _ bytes: [UInt8]) { (self.name, self.bytes) = (name, bytes) }
    }

    public init() {}

    /// The values of a name; none if the file does not have it.
    public subscript(name: TagName) -> [String] { place(of: name).map { texts[$0].values } ?? [] }

    /// Adds values, behind those that the name has. `native` is the name in the file.
    ///
    /// Numbers of tracks and discs that state their total behind a slash are divided, as in `3/12`. If a file has two names
    /// for the same tag, as ID3 may have `TYER` and `TDRC`, the first one counts.
    public mutating func add(_ values: [String], native: String, in format: TagFormat) {
        let name = TagTable.name(of: native, in: format)
        guard let total = TagTable.total(behind: native, in: format) else {
            return append(values, to: name, native, format)
        }
        for value in values {
            let parts = value.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            if !parts[0].isEmpty { append([parts[0]], to: name, native, format) }
            if parts.count == 2, !parts[1].isEmpty { append([parts[1]], to: total, native, format) }
        }
    }

    private mutating func append(_ values: [String], to name: TagName, _ native: String, _ format: TagFormat) {
        guard !values.isEmpty else { return }
        if let place = place(of: name) {
            guard texts[place].format == format, texts[place].native.lowercased() == native.lowercased() else { return }
            texts[place].values += values
        } else {
            places[name.folded] = texts.count
            texts.append(Text(name: name, native: native, format: format, values: values))
        }
    }

    /// Where names are in `texts`.
    private var places: [TagName: Int] = [:]

    private func place(of name: TagName) -> Int? { places[name.folded] }
}

extension TagName {
    /// The same name for all spellings: formats differ in whether case matters, so it does not.
    fileprivate var folded: TagName {
        switch self {
        case .common: self
        case .custom(let name): .custom(name.lowercased())
        case .native(let name, let format): .native(name.lowercased(), format)
        }
    }
}
