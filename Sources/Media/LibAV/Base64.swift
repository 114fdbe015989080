import CLibAV

/// Base64 encoding, done by libavutil.
enum Base64 {
    static func encode(_ bytes: [UInt8]) -> String {
        // Four characters for every three bytes, plus the terminating zero.
        var text = [CChar](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
        av_base64_encode(&text, Int32(text.count), bytes, Int32(bytes.count))
        return String(decoding: text.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
