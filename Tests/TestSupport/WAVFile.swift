/// Writes WAV files without the help of libav, correct and incorrect ones.
public enum WAVFile {
    /// Properties of a written file besides its samples.
    public struct Options: Sendable {
        /// Compresses 16-bit samples to 8 bits.
        public var law: G711?
        /// Whether the header is WAVE_FORMAT_EXTENSIBLE; `nil` decides by channels and bits.
        public var isExtensible: Bool?
        /// The speakers of an extensible header; `nil` takes the usual ones for the channel count.
        public var channelMask: UInt32?
        /// Writes a channel mask of 0, which means that the speakers are unknown.
        public var leavesOutChannelMask = false
        /// The significant bits of each sample; `nil` means all bits. Extensible headers only.
        public var significantBits: Int?
        /// A false data size, such as 0 or 0xFFFFFFFF; the RIFF size then claims the same.
        public var claimedDataSize: UInt32?
        /// Four-letter names and texts for a LIST/INFO chunk before the data, such as `("INAM", "A title")`.
        public var info: [(name: String, text: String)] = []

        /// By default a correct, plain file.
        public init(
            law: G711? = nil,
            isExtensible: Bool? = nil,
            channelMask: UInt32? = nil,
            leavesOutChannelMask: Bool = false,
            significantBits: Int? = nil,
            claimedDataSize: UInt32? = nil,
            info: [(name: String, text: String)] = []
        ) {
            self.law = law
            self.isExtensible = isExtensible
            self.channelMask = channelMask
            self.leavesOutChannelMask = leavesOutChannelMask
            self.significantBits = significantBits
            self.claimedDataSize = claimedDataSize
            self.info = info
        }
    }

    /// Writes `pcm` as a WAV file to `path`, replacing any file there.
    public static func write(_ pcm: PCM, to path: String, options: Options = Options()) throws {
        try Bytes.write(bytes(pcm, options: options), to: path)
    }

    /// The bytes of a whole WAV file.
    public static func bytes(_ pcm: PCM, options: Options = Options()) throws -> [UInt8] {
        let data = try options.law?.encoded(pcm) ?? pcm.bytes
        guard data.count < 0xFFFF_0000 else { throw SupportError("write WAV", "\(pcm) is over 4 GB") }
        var bytes = header(
            rate: pcm.rate,
            channels: pcm.channels,
            format: pcm.format,
            frames: pcm.frames,
            options: options
        )
        bytes.reserveCapacity(bytes.count + data.count + 1)
        bytes += data
        if !data.count.isMultiple(of: 2) { bytes.append(0) }
        return bytes
    }

    /// Everything before the first sample. Sizes that do not fit 32 bits are written as 0xFFFFFFFF.
    static func header(
        rate: Int,
        channels: Int,
        format: PCM.SampleFormat,
        frames: Int?,
        options: Options = Options()
    ) -> [UInt8] {
        let sampleBytes = options.law == nil ? format.bytes : 1
        let formatTag: UInt16 =
            switch options.law {
            case .alaw: 6
            case .ulaw: 7
            case nil: format.isFloat ? 3 : 1
            }
        // The plain header cannot describe more than two channels or 16 bits.
        let isLinear = formatTag == 1
        let isExtensible = options.isExtensible ?? (channels > 2 || (isLinear && format.bits > 16))

        var description: [UInt8] = []
        description.append(little: isExtensible ? 0xFFFE : formatTag)
        description.append(little: UInt16(channels))
        description.append(little: UInt32(rate))
        description.append(little: UInt32(rate * channels * sampleBytes))
        description.append(little: UInt16(channels * sampleBytes))
        description.append(little: UInt16(sampleBytes * 8))
        if isExtensible {
            description.append(little: UInt16(22))
            description.append(little: UInt16(options.significantBits ?? sampleBytes * 8))
            let mask = options.leavesOutChannelMask ? 0 : options.channelMask ?? usualMask(channels: channels)
            description.append(little: mask)
            description.append(little: formatTag)
            description += [0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]
        } else if !isLinear {
            description.append(little: UInt16(0))
        }

        var chunks = chunk("fmt ", description)
        if !isLinear || isExtensible {
            var fact: [UInt8] = []
            fact.append(little: UInt32(clamping: frames ?? Int.max))
            chunks += chunk("fact", fact)
        }
        if !options.info.isEmpty {
            let list = options.info.reduce(Array("INFO".utf8)) { $0 + chunk($1.name, Array($1.text.utf8) + [0]) }
            chunks += chunk("LIST", list)
        }

        let dataSize = frames.map { $0 * channels * sampleBytes } ?? Int.max
        let padding = dataSize & 1
        let riffSize = dataSize > 0xFFFF_FFFF ? dataSize : 4 + chunks.count + 8 + dataSize + padding
        var bytes = Array("RIFF".utf8)
        bytes.append(little: options.claimedDataSize ?? UInt32(clamping: riffSize))
        bytes += Array("WAVE".utf8) + chunks + Array("data".utf8)
        bytes.append(little: options.claimedDataSize ?? UInt32(clamping: dataSize))
        return bytes
    }

    /// Microsoft's usual speaker mask for a channel count; 0 if there is none.
    static func usualMask(channels: Int) -> UInt32 {
        let masks: [UInt32] = [0, 0x4, 0x3, 0x7, 0x33, 0x37, 0x3F, 0x70F, 0x63F]
        return channels < masks.count ? masks[channels] : 0
    }

    private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        precondition(name.utf8.count == 4, "a chunk name has four letters")
        var bytes = Array(name.utf8)
        bytes.append(little: UInt32(content.count))
        bytes += content
        if !content.count.isMultiple(of: 2) { bytes.append(0) }
        return bytes
    }
}
