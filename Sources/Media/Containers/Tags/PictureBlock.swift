import Conversion

/// FLAC's picture block, which Ogg stores in its comments.
enum PictureBlock {
    static func base64(_ picture: Picture) -> String {
        var block = bigEndianBytes(3, count: 4)
        let mime = Array(picture.mimeType.utf8)
        block += bigEndianBytes(Int64(mime.count), count: 4) + mime + bigEndianBytes(0, count: 4)
        for value in [picture.width, picture.height, 24, 0, picture.bytes.count] {
            block += bigEndianBytes(Int64(value), count: 4)
        }
        return Base64.encode(block + picture.bytes)
    }
}
