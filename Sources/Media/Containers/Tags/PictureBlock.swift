import Conversion

/// FLAC's picture block, which Ogg stores in its comments.
enum PictureBlock {
    /// A comment for each picture; `nil` without pictures.
    static func tag(_ pictures: [Picture]) -> Tag? {
        pictures.isEmpty ? nil : Tag(key: "METADATA_BLOCK_PICTURE", values: pictures.map(base64))
    }

    static func base64(_ picture: Picture) -> String {
        var block = bigEndianBytes(Int64(picture.kind), count: 4)
        for text in [picture.mimeType, picture.text] {
            let bytes = Array(text.utf8)
            block += bigEndianBytes(Int64(bytes.count), count: 4) + bytes
        }
        for value in [picture.width, picture.height, 24, 0, picture.bytes.count] {
            block += bigEndianBytes(Int64(value), count: 4)
        }
        return Base64.encode(block + picture.bytes)
    }
}
