extension WAVFile {
    /// The fields of a WAV file's header, and the position of its samples.
    public struct Header: Sendable, Equatable {
        /// 1 is linear PCM, 3 float, 6 A-law, 7 u-law. For an extensible header, the tag within the subformat.
        public let formatTag: Int
        /// Whether it is WAVE_FORMAT_EXTENSIBLE.
        public let isExtensible: Bool
        /// Samples per frame.
        public let channels: Int
        /// In hertz.
        public let rate: Int
        /// The bits that a sample occupies.
        public let bits: Int
        /// The significant bits; `bits` if the header does not state them.
        public let significantBits: Int
        /// `nil` without an extensible header.
        public let channelMask: UInt32?
        /// The offset of the first sample, in bytes from the start of the file.
        public let dataOffset: Int
        /// As the header claims; may be 0xFFFFFFFF for a stream.
        public let dataSize: Int
    }

    /// Parses the header, RIFF or RF64, from the first bytes of a file.
    public static func header(of bytes: [UInt8]) throws -> Header {
        let isRF64 = bytes.starts(with: Array("RF64".utf8))
        guard isRF64 || bytes.starts(with: Array("RIFF".utf8)), bytes.count >= 12,
            bytes[8..<12].elementsEqual("WAVE".utf8)
        else { throw SupportError("read WAV", "no RIFF/WAVE at the start:\n" + Bytes.hexDump(bytes, count: 32)) }

        var format: (offset: Int, size: Int)?
        var longDataSize: Int?
        var offset = 12
        while offset + 8 <= bytes.count {
            let name = String(decoding: bytes[offset..<offset + 4], as: UTF8.self)
            let size = Int(try Bytes.little(UInt32.self, in: bytes, at: offset + 4))
            let content = offset + 8
            switch name {
            case "ds64": longDataSize = Int(clamping: try Bytes.little(UInt64.self, in: bytes, at: content + 8))
            case "fmt ": format = (content, size)
            case "data":
                guard let format else { throw SupportError("read WAV", "the data comes before its format") }
                let trueSize = isRF64 && size == 0xFFFF_FFFF ? longDataSize ?? size : size
                return try header(of: bytes, format: format, dataOffset: content, dataSize: trueSize)
            default: break
            }
            offset = content + size + size & 1
        }
        throw SupportError("read WAV", "no data chunk in \(bytes.count) bytes")
    }

    /// Reads a whole linear or float WAV file; throws if it holds less than its header claims.
    ///
    /// A claim of 0xFFFFFFFF, as in streams, means everything up to the end.
    public static func read(_ bytes: [UInt8]) throws -> PCM {
        let header = try header(of: bytes)
        let present = bytes.count - header.dataOffset
        let size = header.dataSize == 0xFFFF_FFFF ? present : header.dataSize
        guard size <= present else {
            throw SupportError("read WAV", "the header claims \(size) bytes of samples, \(present) are there")
        }
        let format: PCM.SampleFormat? =
            switch (header.formatTag, header.bits) {
            case (1, 8): .u8
            case (1, 16): .s16
            case (1, 24): .s24
            case (1, 32): .s32
            case (3, 32): .f32
            case (3, 64): .f64
            default: nil
            }
        guard let format, header.channels > 0 else {
            throw SupportError("read WAV", "format \(header.formatTag) of \(header.bits) bits is not linear")
        }
        guard size.isMultiple(of: header.channels * format.bytes) else {
            throw SupportError("read WAV", "\(size) bytes are not whole frames")
        }
        let samples = Array(bytes[header.dataOffset..<header.dataOffset + size])
        return PCM(rate: header.rate, channels: header.channels, format: format, bytes: samples)
    }

    /// Reads a whole linear or float WAV file from `path`.
    public static func read(path: String) throws -> PCM { try read(Bytes.read(path)) }

    private static func header(
        of bytes: [UInt8],
        format: (offset: Int, size: Int),
        dataOffset: Int,
        dataSize: Int
    ) throws -> Header {
        func short(_ position: Int) throws -> Int {
            Int(try Bytes.little(UInt16.self, in: bytes, at: format.offset + position))
        }
        let tag = try short(0)
        let isExtensible = tag == 0xFFFE && format.size >= 40
        return Header(
            formatTag: isExtensible ? try short(24) : tag,
            isExtensible: isExtensible,
            channels: try short(2),
            rate: Int(try Bytes.little(UInt32.self, in: bytes, at: format.offset + 4)),
            bits: try short(14),
            significantBits: isExtensible ? try short(18) : try short(14),
            channelMask: isExtensible ? try Bytes.little(UInt32.self, in: bytes, at: format.offset + 20) : nil,
            dataOffset: dataOffset,
            dataSize: dataSize
        )
    }
}
