import Conversion

/// Recomputes the MD5 that a FLAC file stores of its samples, from the decoded samples.
final class FLACDigest {
    private let sum: MessageDigest
    private let expected: [UInt8]
    private let depth: Int
    private var scratch: [UInt8] = []

    /// `nil` if the file stores no MD5.
    init?(_ stream: InputStream) {
        let header = stream.extradata
        guard header.count >= 34, header[18..<34].contains(where: { $0 != 0 }), let sum = MessageDigest(.md5) else {
            return nil
        }
        self.sum = sum
        expected = Array(header[18..<34])
        depth = (Int(header[12] & 1) << 4 | Int(header[13] >> 4)) + 1
    }

    /// Adds a block to the MD5: interleaved, little-endian, each sample in as few whole bytes as its bit depth needs.
    func update(_ block: borrowing SampleBlock) {
        guard let shape = block.shape, shape.format.kind == .integer else { return }
        let (channels, width) = (shape.channelCount, shape.format.bytesPerSample)
        let (kept, shift) = ((depth + 7) / 8, 8 * width - depth)
        guard width == 2 || width == 4, shift >= 0 else { return }
        let count = block.frameCount * channels * kept
        if scratch.count < count { scratch = [UInt8](repeating: 0, count: count) }
        scratch.withUnsafeMutableBytes { out in
            for channel in 0..<channels {
                let isPlanar = shape.format.isPlanar
                block.withPlane(isPlanar ? channel : 0) { plane in
                    var source = isPlanar ? 0 : channel * width
                    var target = channel * kept
                    for _ in 0..<block.frameCount {
                        let value =
                            width == 2
                            ? Int32(plane.loadUnaligned(fromByteOffset: source, as: Int16.self)) >> Int32(shift)
                            : plane.loadUnaligned(fromByteOffset: source, as: Int32.self) >> Int32(shift)
                        for byte in 0..<kept {
                            out[target + byte] = UInt8(truncatingIfNeeded: value >> Int32(8 * byte))
                        }
                        source += isPlanar ? width : width * channels
                        target += kept * channels
                    }
                }
            }
            sum.update(UnsafeRawBufferPointer(rebasing: out[..<count]))
        }
    }

    /// Whether the MD5 of all samples so far matches the stored one. It finalises the MD5: add nothing after this call.
    func matches() -> Bool { sum.finish() == expected }
}
