/// How many bytes of pictures an output has room for.
struct PictureRoom {
    /// Of one picture, and of all together.
    var each = Int.max
    var all = Int.max

    /// What stands beside the bytes and the text of a picture: its kind, its format and its size.
    private static let besides = 128

    /// The pictures that fit, in their order. One that does not fit leaves the room to those behind it.
    func fitting(_ pictures: [Picture]) -> [Picture] {
        var left = all
        return pictures.filter { picture in
            let size = picture.bytes.count + picture.text.utf8.count + Self.besides
            guard size <= min(each, left) else { return false }
            left -= size
            return true
        }
    }
}
