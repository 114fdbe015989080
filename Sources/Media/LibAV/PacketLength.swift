import CLibAV

/// How many frames a packet holds by what its codec wrote into it.
///
/// Containers round: Matroska counts milliseconds, MPEG-TS ticks of 90 kHz. To find a frame without decoding what lies
/// before it, only the packets themselves are exact enough.
struct PacketLength: ~Copyable {
    private let parameters: UnsafeMutablePointer<AVCodecParameters>
    private var vorbis: VorbisPacketLength?

    init(_ stream: InputStream) {
        parameters = stream.pointer.pointee.codecpar
        if parameters.pointee.codec_id == AV_CODEC_ID_VORBIS { vorbis = try? VorbisPacketLength.open(stream) }
    }

    /// Whether the headers by which packets are read are damaged.
    var isUnreadable: Bool { parameters.pointee.codec_id == AV_CODEC_ID_VORBIS && vorbis == nil }

    /// `nil` where the packet does not say. Call once for each packet, in order: Vorbis overlaps with the one before.
    mutating func frames(in packet: borrowing Packet) -> Int64? {
        if vorbis != nil {
            let frames = vorbis!.frames(in: packet)
            return frames < 0 ? nil : Int64(frames)
        }
        return packet.withBytes { stated(in: $0) ?? fixed(for: $0.count) }.map(Int64.init)
    }

    /// The number of a FLAC packet's first frame, which each of them carries.
    func flacStart(of packet: borrowing Packet, blockFrames: Int) -> Int64? {
        packet.withBytes { FLACFrameHeader($0)?.start(blockFrames: blockFrames) }
    }

    private func stated(in bytes: UnsafeRawBufferPointer) -> Int? {
        switch parameters.pointee.codec_id {
        case AV_CODEC_ID_MP1, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3: mpeg(bytes)
        case AV_CODEC_ID_EAC3: eac3(bytes)
        case AV_CODEC_ID_DTS: dts(bytes)
        case AV_CODEC_ID_OPUS: opus(bytes)
        case AV_CODEC_ID_FLAC: FLACFrameHeader(bytes)?.frames
        case AV_CODEC_ID_ALAC: alac(bytes)
        case AV_CODEC_ID_WAVPACK: wavPack(bytes)
        default: nil
        }
    }

    private func fixed(for count: Int) -> Int? {
        switch parameters.pointee.codec_id {
        case AV_CODEC_ID_AC3: return 1536
        // The decoder found out how long they are, doubled by SBR or not.
        case AV_CODEC_ID_AAC, AV_CODEC_ID_AAC_LATM:
            return parameters.pointee.frame_size > 0 ? Int(parameters.pointee.frame_size) : nil
        case AV_CODEC_ID_AMR_NB, AV_CODEC_ID_AMR_WB, AV_CODEC_ID_GSM, AV_CODEC_ID_GSM_MS, AV_CODEC_ID_ADPCM_IMA_WAV,
            AV_CODEC_ID_ADPCM_MS, AV_CODEC_ID_ADPCM_IMA_QT:
            let frames = av_get_audio_frame_duration2(parameters, Int32(count))
            return frames > 0 ? Int(frames) : nil
        case let id
        where id.rawValue >= AV_CODEC_ID_PCM_S16LE.rawValue && id.rawValue < AV_CODEC_ID_ADPCM_IMA_QT.rawValue:
            let width = Int(av_get_bits_per_sample(id)) * Int(parameters.pointee.ch_layout.nb_channels)
            return width > 0 && count * 8 % width == 0 ? count * 8 / width : nil
        default: return nil
        }
    }

    private func mpeg(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= 4, bytes[0] == 0xFF, bytes[1] & 0xE0 == 0xE0 else { return nil }
        let isMPEG1 = bytes[1] & 0x18 == 0x18
        switch bytes[1] >> 1 & 3 {
        case 3: return 384
        case 2: return 1152
        case 1: return isMPEG1 ? 1152 : 576
        default: return nil
        }
    }

    /// A packet may hold several frames: those of dependent and of further programs lie over the first one's time.
    private func eac3(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var (place, frames) = (0, 0)
        while place + 6 <= bytes.count {
            guard bytes[place] == 0x0B, bytes[place + 1] == 0x77 else { return nil }
            let program = bytes[place + 2] & 0xF8
            let isHalfRate = bytes[place + 4] >> 6 == 3
            let code = Int(bytes[place + 4] >> 4 & 3)
            let blocks = isHalfRate || code == 3 ? 6 : code + 1
            // Plain AC-3 frames in such a stream are not of this syntax.
            guard bytes[place + 5] >> 3 > 10 else { return nil }
            if program == 0 || program == 0x80 { frames += blocks * 256 }
            place += 2 * ((Int(bytes[place + 2] & 7) << 8 | Int(bytes[place + 3])) + 1)
        }
        return frames > 0 ? frames : nil
    }

    private func dts(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= 6, bytes[0] == 0x7F, bytes[1] == 0xFE, bytes[2] == 0x80, bytes[3] == 0x01 else {
            return nil
        }
        return (Int(bytes[4] & 1) << 6 | Int(bytes[5] >> 2)) * 32 + 32
    }

    /// RFC 6716, section 3.1. Opus always runs at 48 kHz.
    private func opus(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard let first = bytes.first else { return nil }
        let configuration = Int(first >> 3)
        let frame =
            switch configuration {
            case 0..<12: configuration & 3 == 3 ? 2880 : 480 << (configuration & 3)
            case 12..<16: 480 << (configuration & 1)
            default: 120 << (configuration & 3)
            }
        switch first & 3 {
        case 0: return frame
        case 1, 2: return 2 * frame
        default: return bytes.count >= 2 ? frame * Int(bytes[1] & 0x3F) : nil
        }
    }

    private func alac(_ bytes: UnsafeRawBufferPointer) -> Int? {
        let cookie = UnsafeRawBufferPointer(
            start: parameters.pointee.extradata,
            count: Int(parameters.pointee.extradata_size)
        )
        guard cookie.count >= 16, bytes.count >= 7 else { return nil }
        func word(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> Int {
            (0..<4).reduce(0) { $0 << 8 | Int(bytes[place + $1]) }
        }
        guard bytes[2] >> 4 & 1 == 1 else { return word(cookie, 12) }
        // Only a block that is shorter says so, in 32 bits from the 23rd on.
        return (word(bytes, 2) << 8 | Int(bytes[6])) >> 1 & 0xFFFF_FFFF
    }

    private func wavPack(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= 32, bytes.prefix(4).elementsEqual("wvpk".utf8) else { return nil }
        return (0..<4).reduce(0) { $0 | Int(bytes[20 + $1]) << (8 * $1) }
    }
}

/// The first bytes of a FLAC frame, as far as they say where it lies and how long it is.
struct FLACFrameHeader {
    let frames: Int
    /// The frame's number, or its first sample's where blocks vary.
    private let number: Int64
    private let numbersSamples: Bool

    /// `nil` for bytes that do not begin with one. Its checksum is left to the decoder.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= 9, bytes[0] == 0xFF, bytes[1] & 0xFE == 0xF8 else { return nil }
        numbersSamples = bytes[1] & 1 == 1
        // A number as long as its first byte has leading ones, like UTF-8.
        let ones = (~bytes[4]).leadingZeroBitCount
        guard ones != 1, ones < 8, bytes.count >= 4 + max(1, ones) + 2 else { return nil }
        let length = max(1, ones)
        var value = ones == 0 ? Int64(bytes[4]) : Int64(bytes[4]) & (0x7F >> Int64(ones))
        for place in 5..<(4 + length) { value = value << 6 | Int64(bytes[place] & 0x3F) }
        number = value
        let behind = 4 + length
        switch bytes[2] >> 4 {
        case 1: frames = 192
        case let code where (2...5).contains(code): frames = 144 << Int(code)
        case 6: frames = Int(bytes[behind]) + 1
        case 7: frames = (Int(bytes[behind]) << 8 | Int(bytes[behind + 1])) + 1
        case let code where code >= 8: frames = 1 << Int(code)
        default: return nil
        }
    }

    /// The first frame, in a stream whose blocks have `blockFrames` frames each, or state their samples.
    func start(blockFrames: Int) -> Int64? {
        numbersSamples ? number : blockFrames > 0 ? number * Int64(blockFrames) : nil
    }
}
