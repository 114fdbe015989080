/// AAC, with and without SBR, plain and in LATM.
struct AACCodec: CodecRules {
    let isInLATM: Bool

    var names: [String] { [isInLATM ? "aac_latm" : "aac"] }

    var packets: CodecTraits {
        // SBR data is coded differentially, over a second or so.
        CodecTraits(
            preroll: 8 * 1024,
            prerollWithSBR: 48 * 2048,
            decoderInfersSkip: true,
            exactTables: isInLATM ? [] : .samples
        )
    }

    /// The decoder determined the length, which SBR may have doubled.
    func length(of stream: InputStream) -> PacketLength.Rule {
        let rate = stream.sampleRateHz
        return .implied { bytes in
            if let stated = Self.adtsRate(bytes), stated != rate, stated * 2 != rate { return nil }
            return stream.frameSize > 0 ? stream.frameSize : nil
        }
    }

    func durations(of stream: InputStream) -> PacketDurations? {
        isInLATM ? nil : PacketDurations.equal(Int64(stream.frameSize))
    }

    /// Encoders of HE-AAC count before SBR doubles the frames, as in AAC, or behind it.
    func framesPerCountedFrame(of stream: InputStream) -> [Int64] {
        stream.frameSize == CodecTraits.framesWithSBR ? [1, 2] : [1]
    }

    func markedPriming(of first: borrowing Packet) -> Int? {
        guard !isInLATM else { return nil }
        let isMarked = first.withBytes { FAACMark.begins($0) }
        return isMarked ? FAACMark.priming : nil
    }

    func markedPriming(of stream: InputStream, in source: ByteSource) -> Int? {
        guard !isInLATM, let first = stream.indexEntry(0),
            let bytes = source.bytes(at: first.place, count: min(first.byteCount, FAACMark.reach))
        else { return nil }
        return FAACMark.begins(bytes) ? FAACMark.priming : nil
    }

    var rollPackets: Int? { isInLATM ? nil : 1 }

    /// SBR and the profiles beside LC carry their state through more than one packet. Only the noise that AAC substitutes for
    /// sound differs behind a join: the decoder generates it.
    func joining(of stream: InputStream) -> PacketJoining {
        if isInLATM { return .refused("its packets are in LATM") }
        if stream.frameSize == CodecTraits.framesWithSBR {
            return .refused("it is HE-AAC, whose decoder keeps its state over many packets")
        }
        let bytes = stream.extradata
        guard let configuration = AACConfiguration(bytes) else {
            return .refused("its header has no configuration of AAC")
        }
        guard configuration.isLC else { return .refused("it is not AAC-LC") }
        return .behindPriming(configuration: configuration.decisive)
    }

    /// The sample rate in an ADTS header, which SBR may double.
    private static func adtsRate(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= 7, bytes[0] == 0xFF, bytes[1] & 0xF6 == 0xF0 else { return nil }
        switch bytes[2] >> 2 & 0x0F {
        case 0: return 96_000
        case 1: return 88_200
        case 2: return 64_000
        case 3: return 48_000
        case 4: return 44_100
        case 5: return 32_000
        case 6: return 24_000
        case 7: return 22_050
        case 8: return 16_000
        case 9: return 12_000
        case 10: return 11_025
        case 11: return 8_000
        default: return 7_350
        }
    }
}
