import Conversion

/// WavPack.
struct WavPackCodec: CodecRules {
    let names = ["wavpack"]
    let packets = CodecTraits(preroll: 0)
    let leavesSpeakersToContainer = true
    let decoding = DecodingTraits(isMisjudged: WavPackBlock.sharesLowBits, mended: WavPackBlock.naming)

    func length(of stream: InputStream) -> PacketLength.Rule {
        .stated { bytes in
            guard bytes.count >= 32, bytes.prefix(4).elementsEqual("wvpk".utf8) else { return nil }
            return Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 20, as: UInt32.self)))
        }
    }

    func isFloat(_ stream: InputStream) -> Bool { stream.sampleFormat?.kind == .float }
}
