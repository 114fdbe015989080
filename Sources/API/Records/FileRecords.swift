package import Ledger

/// What a coordinator does with files.
package struct FileOffer: LedgerRecord, Hashable {
    /// The roots where programs may send files.
    package var uploads: [String] = []
    /// The roots whose outputs programs may get.
    package var downloads: [String] = []
    /// Bytes of one upload.
    package var mostUploadBytes: Int64 = 0

    package init() {}

    package static var blank: FileOffer { FileOffer() }
    package static let fields: [RecordField<FileOffer>] = [
        .always("uploads", \.uploads, .texts, "the roots where programs may send files"),
        .always("downloads", \.downloads, .texts, "the roots whose outputs programs may get"),
        .always("mostUploadBytes", \.mostUploadBytes, .size, "the length of the longest file that may be sent"),
    ]
}

/// A file that a program has sent.
package struct UploadedFile: LedgerRecord, Hashable {
    package var location = ""
    package var bytes: Int64 = 0
    /// SHA-256 in hexadecimal.
    package var digest = ""

    package init(location: String = "", bytes: Int64 = 0, digest: String = "") {
        (self.location, self.bytes, self.digest) = (location, bytes, digest)
    }

    package static var blank: UploadedFile { UploadedFile() }
    package static let fields: [RecordField<UploadedFile>] = [
        .always("location", \.location, .text, "where the file is, as jobs name it"),
        .always("bytes", \.bytes, .size, "its length"),
        .always("digest", \.digest, .text(64...64), "its SHA-256"),
    ]
}

/// Files and folders that a caller may choose from.
package struct PlaceList: LedgerRecord, Hashable {
    /// Locations; those of folders end with a slash, and roots with a colon.
    package var places: [String] = []
    /// Whether there are others, or may be.
    package var hasMore = false

    package init(places: [String] = [], hasMore: Bool = false) { (self.places, self.hasMore) = (places, hasMore) }

    package static var blank: PlaceList { PlaceList() }
    package static let fields: [RecordField<PlaceList>] = [
        .always(
            "places",
            \.places,
            .texts,
            "locations in their order; those of folders end with a slash, and roots with a colon"
        ),
        .always("hasMore", \.hasMore, .truth, "whether there are others, or may be: a more exact beginning finds them"),
    ]
}
