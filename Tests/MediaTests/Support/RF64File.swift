import TestSupport

/// Files in RF64, which states the size of its sound in a chunk of its own.
enum RF64File {
    /// The WAV as RF64. `size` stands in the chunk of the sound.
    static func bytes(of wav: [UInt8], stating size: UInt32 = .max) throws -> [UInt8] {
        guard let data = Bytes.find("data", in: wav) else { throw SupportError("make RF64", "no data chunk") }
        var bytes = Array("RF64".utf8)
        bytes.append(little: UInt32.max)
        bytes += wav[8..<12] + Array("ds64".utf8)
        bytes.append(little: UInt32(28))
        bytes.append(little: UInt64(wav.count + 36 - 8))
        // The frames are stated as zero: PCM has no need for them.
        bytes += wav[(data + 4)..<(data + 8)] + [UInt8](repeating: 0, count: 4 + 8 + 4)
        bytes += wav[12..<(data + 4)]
        bytes.append(little: size)
        return bytes + wav[(data + 8)...]
    }
}
