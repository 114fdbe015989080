import CLibAV

/// Key and value pairs for libav, freed when the value is dropped.
struct Options: ~Copyable {
    var pointer: OpaquePointer?

    init(_ pairs: [(String, String)] = []) {
        for (key, value) in pairs { av_dict_set(&pointer, key, value, 0) }
    }

    deinit {
        var doomed = pointer
        av_dict_free(&doomed)
    }

    /// The options that libav did not recognise. Setting an unknown option is a bug in this
    /// module and must not be ignored.
    var leftOver: [String] { pairs(of: pointer).map(\.0) }
}

/// All pairs of a dictionary in its order, repeated keys included.
func pairs(of dictionary: OpaquePointer?) -> [(String, String)] {
    var pairs: [(String, String)] = []
    var entry: UnsafeMutablePointer<AVDictionaryEntry>?
    while true {
        entry = av_dict_get(dictionary, "", entry, AV_DICT_IGNORE_SUFFIX)
        guard let entry else { return pairs }
        pairs.append((String(cString: entry.pointee.key), String(cString: entry.pointee.value)))
    }
}
