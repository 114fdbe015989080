extension ResolvedFormat {
    /// How far an estimate can be off, for a file without tags.
    public enum Exactness: Sendable, Hashable {
        /// Not at all.
        case exact
        /// By up to this percentage of the estimate, either way.
        case within(percent: Int)
    }

    /// How libav's WAV and W64 describe mono and stereo floats at rates up to 48 kHz.
    public enum FloatHeader: Sendable, Hashable {
        /// With a short `fmt ` chunk, as libav 7.1 does.
        case short
        /// With WAVEFORMATEXTENSIBLE, as libav 5.1 does.
        case long
    }

    /// Bytes per frame if every frame has the same size (PCM, mu-law, A-law), else `nil`.
    public var bytesPerFrame: Int? {
        switch codec {
        case .pcm: bitDepth / 8 * channelCount
        case .ulaw, .alaw: channelCount
        default: nil
        }
    }

    /// The size in bytes of a file of `frames` frames, counted at `sampleRateHz`. Tags come on top.
    ///
    /// `nil` if only encoding can tell: lossless compression, passthrough, variable bit rates, and AAC and Opus,
    /// whose encoders take a bit rate only as a target (60 s of silence at 128 kbit/s AAC are 27 kB).
    public func estimatedBytes(frames: Int64, floats: FloatHeader = .long) -> (bytes: Int64, exactness: Exactness)? {
        // Only a wrong header promises more frames than this, and the arithmetic below would overflow 64 bits.
        guard (0...(1 << 56)).contains(frames) else { return nil }
        if let bytesPerFrame {
            let data = frames.multipliedReportingOverflow(by: Int64(bytesPerFrame))
            guard !data.overflow, data.partialValue <= .max - 1024 else { return nil }
            let bytes = headerBytes(floats: floats) + data.partialValue + paddingBytes(after: data.partialValue)
            return (bytes, container == .mka ? .within(percent: 2) : .exact)
        }
        guard codec == .mp3, let bitRate else { return nil }
        return (mp3Bytes(frames: frames, bitRate: bitRate), .within(percent: 2))
    }

    /// Counts whole packets: LAME's delay of 1105 frames, the samples, and one packet for the LAME tag. Matroska
    /// stores no LAME tag, but puts a header before each packet.
    private func mp3Bytes(frames: Int64, bitRate: Int) -> Int64 {
        let packetFrames: Int64 = sampleRateHz >= 32_000 ? 1152 : 576
        let packets = (frames + 1105 + packetFrames - 1) / packetFrames
        let bytesPerPacket = Double(packetFrames) * Double(bitRate) / Double(8 * sampleRateHz)
        if container == .mka {
            return Int64((Double(packets) * (bytesPerPacket + Self.matroskaBlockBytes)).rounded()) + 500
        }
        return Int64((Double(packets + 1) * bytesPerPacket).rounded())
    }

    /// The header of a SimpleBlock of 128 bytes to 16 KiB.
    private static let matroskaBlockBytes = 7.0
}

// MARK: - What a container adds

extension ResolvedFormat {
    /// Bytes in the file before and after the samples, as libav writes it without tags. 0 if the samples are
    /// not PCM.
    ///
    /// The length does not change it, except in Matroska, which cuts samples into packets: there it is approximate.
    public func headerBytes(floats: FloatHeader = .long) -> Int64 {
        guard bytesPerFrame != nil else { return 0 }
        switch container {
        case .wav: return 36 + riffHeaderBytes(isExtensible(floats))  // space for RF64's ds64
        case .w64: return w64HeaderBytes(isExtensible(floats))
        case .aiff: return 54 + aiffLayoutBytes
        case .aifc: return 72 + aiffLayoutBytes
        case .caf: return 68 + (layout.isDiscrete ? 0 : 24)  // the `chan` chunk
        case .au: return 32
        case .mka: return 485
        default: return 0
        }
    }

    /// Chunks begin at even offsets, in W64 at multiples of eight.
    private func paddingBytes(after dataBytes: Int64) -> Int64 {
        switch container {
        case .wav, .aiff, .aifc: dataBytes % 2
        case .w64: (8 - dataBytes % 8) % 8
        default: 0
        }
    }

    /// Whether libav writes the long `fmt ` chunk, WAVEFORMATEXTENSIBLE.
    private func isExtensible(_ floats: FloatHeader) -> Bool {
        let namesSpeakers = !layout.isDiscrete && layout != .mono && layout != .stereo
        let isDeep = codec == .pcm && bitDepth > 16 && (sampleKind != .float || floats == .long)
        return namesSpeakers || sampleRateHz > 48_000 || isDeep
    }

    /// Whether a `fact` chunk states the number of frames: for everything but integer PCM.
    private var hasFactChunk: Bool { codec != .pcm || sampleKind == .float }

    private func riffHeaderBytes(_ isExtensible: Bool) -> Int64 {
        (isExtensible ? 68 : hasFactChunk ? 46 : 44) + (hasFactChunk ? 12 : 0)
    }

    private func w64HeaderBytes(_ isExtensible: Bool) -> Int64 {
        (isExtensible ? 128 : hasFactChunk ? 112 : 104) + (hasFactChunk ? 32 : 0)
    }

    /// The `CHAN` chunk, which names the speakers if there are more than two channels with known positions.
    private var aiffLayoutBytes: Int64 { channelCount > 2 && !layout.isDiscrete ? 20 : 0 }
}
