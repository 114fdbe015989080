import CLibAV

/// Computes how many frames a packet holds from its codec data.
///
/// Containers round: Matroska counts milliseconds, MPEG-TS ticks of 90 kHz. To find a frame without decoding
/// everything before it, only the packets themselves are exact enough.
struct PacketLength: ~Copyable {
    private let parameters: UnsafeMutablePointer<AVCodecParameters>
    private let rate: Int
    private var vorbis: VorbisPacketLength?
    private var flac: FLACFrameHeader?
    /// Whether a FLAC packet did not follow the one before it: libav merged several frames
    /// into one packet, or lost some.
    private(set) var isBroken = false

    init(_ stream: InputStream) {
        parameters = stream.pointer.pointee.codecpar
        rate = stream.sampleRateHz
        // `try?`: damaged headers leave `nil`, which `isUnreadable` reports. Callers that need lengths then refuse,
        // and callers that decode get the decoder's error.
        if parameters.pointee.codec_id == AV_CODEC_ID_VORBIS { vorbis = try? VorbisPacketLength.open(stream) }
    }

    /// Whether the headers needed to read packets are damaged.
    var isUnreadable: Bool { parameters.pointee.codec_id == AV_CODEC_ID_VORBIS && vorbis == nil }

    /// What the packets before the next one said, except for Vorbis, whose parser keeps it.
    struct State {
        fileprivate var flac: FLACFrameHeader?
        fileprivate var isBroken: Bool
    }

    var state: State {
        get { State(flac: flac, isBroken: isBroken) }
        set { (flac, isBroken) = (newValue.flac, newValue.isBroken) }
    }

    /// The frames in `packet`; `nil` if it does not say, or has another sample rate than the stream had at first.
    ///
    /// Call it once per packet, in order: Vorbis packets overlap with the one before.
    mutating func frames(in packet: borrowing Packet) -> Int64? {
        if vorbis != nil {
            let frames = vorbis!.frames(in: packet)
            return frames < 0 ? nil : Int64(frames)
        }
        if parameters.pointee.codec_id == AV_CODEC_ID_FLAC {
            let header = packet.withBytes { FLACFrameHeader($0) }
            if let flac, let header, !header.follows(flac) { isBroken = true }
            flac = header
            return header.flatMap { $0.rate == nil || $0.rate == rate ? Int64($0.frames) : nil }
        }
        return packet.withBytes { stated(in: $0) ?? fixed(for: $0.count, adts: adtsRate($0)) }.map(Int64.init)
    }

    /// Call it after a seek: the next packet does not follow the last one.
    mutating func forgetOrder() { flac = nil }

    /// The frames in all of `packets` but the first; `nil` if any of them does not say. `packets` are
    /// consecutive ranges of `bytes`.
    func frames(in bytes: UnsafeRawBufferPointer, _ packets: [Range<Int>]) -> Int64? {
        let own = vorbis == nil ? nil : VorbisPacketLength.open(parameters)
        var sum: Int64 = 0
        for (number, packet) in packets.enumerated() {
            let packet = UnsafeRawBufferPointer(rebasing: bytes[packet])
            let stated = vorbis == nil ? stated(in: packet) ?? FLACFrameHeader(packet)?.frames : own?.frames(in: packet)
            guard let frames = stated, frames >= 0 else {
                return nil
            }
            if number > 0 { sum += Int64(frames) }
        }
        return sum
    }

    private func stated(in bytes: UnsafeRawBufferPointer) -> Int? {
        switch parameters.pointee.codec_id {
        case AV_CODEC_ID_MP1, AV_CODEC_ID_MP2, AV_CODEC_ID_MP3: mpeg(bytes)
        case AV_CODEC_ID_AC3: ac3(bytes)
        case AV_CODEC_ID_EAC3: eac3(bytes)
        case AV_CODEC_ID_DTS: dts(bytes)
        case AV_CODEC_ID_OPUS: opus(bytes)
        case AV_CODEC_ID_ALAC: alac(bytes)
        case AV_CODEC_ID_WAVPACK: wavPack(bytes)
        case AV_CODEC_ID_SPEEX: speex
        default: nil
        }
    }

    private func fixed(for count: Int, adts adtsRate: Int?) -> Int? {
        switch parameters.pointee.codec_id {
        // The decoder determined the length, which SBR may have doubled.
        case AV_CODEC_ID_AAC, AV_CODEC_ID_AAC_LATM:
            if let adtsRate, adtsRate != rate, adtsRate * 2 != rate { return nil }
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

    /// The sample rate in an ADTS header, which SBR may double.
    private func adtsRate(_ bytes: UnsafeRawBufferPointer) -> Int? {
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

    private func mpeg(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= 4, bytes[0] == 0xFF, bytes[1] & 0xE0 == 0xE0 else { return nil }
        let (isMPEG1, isMPEG2) = (bytes[1] & 0x18 == 0x18, bytes[1] & 0x18 == 0x10)
        let full = bytes[2] >> 2 & 3 == 0 ? 44_100 : bytes[2] >> 2 & 3 == 1 ? 48_000 : 32_000
        guard full >> (isMPEG1 ? 0 : isMPEG2 ? 1 : 2) == rate else { return nil }
        switch bytes[1] >> 1 & 3 {
        case 3: return 384
        case 2: return 1152
        case 1: return isMPEG1 ? 1152 : 576
        default: return nil
        }
    }

    private func ac3(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= 6, bytes[0] == 0x0B, bytes[1] == 0x77, bytes[5] >> 3 <= 10 else { return nil }
        return ac3Rate(bytes[4] >> 6) >> max(0, Int(bytes[5] >> 3) - 8) == rate ? 1536 : nil
    }

    private func ac3Rate(_ code: UInt8) -> Int { code == 0 ? 48_000 : code == 1 ? 44_100 : 32_000 }

    /// A packet may hold several frames. Those of dependent substreams and of further programs
    /// cover the same time as the first.
    private func eac3(_ bytes: UnsafeRawBufferPointer) -> Int? {
        var (place, frames) = (0, 0)
        while place + 6 <= bytes.count {
            guard bytes[place] == 0x0B, bytes[place + 1] == 0x77 else { return nil }
            let program = bytes[place + 2] & 0xF8
            let isHalfRate = bytes[place + 4] >> 6 == 3
            let code = Int(bytes[place + 4] >> 4 & 3)
            let blocks = isHalfRate || code == 3 ? 6 : code + 1
            // Plain AC-3 frames have another syntax.
            guard bytes[place + 5] >> 3 > 10, isHalfRate || ac3Rate(bytes[place + 4] >> 6) == rate else { return nil }
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

    /// RFC 6716, section 3.1. Opus always counts at 48 kHz.
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
        // Only a shorter block states its length, in 32 bits from the 23rd on.
        return (word(bytes, 2) << 8 | Int(bytes[6])) >> 1 & 0xFFFF_FFFF
    }

    /// All Speex packets have the same length: the header states the frames per packet and their size.
    private var speex: Int? {
        let header = UnsafeRawBufferPointer(
            start: parameters.pointee.extradata,
            count: Int(parameters.pointee.extradata_size)
        )
        guard header.count >= 68, header.starts(with: Array("Speex   ".utf8)) else { return nil }
        let (size, count) = (littleEndianWord(header, at: 56), max(1, littleEndianWord(header, at: 64)))
        return (1...640).contains(size) && count <= 64 ? size * count : nil
    }

    private func wavPack(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= 32, bytes.prefix(4).elementsEqual("wvpk".utf8) else { return nil }
        return littleEndianWord(bytes, at: 20)
    }

    /// The number in the four bytes from `place` on.
    private func littleEndianWord(_ bytes: UnsafeRawBufferPointer, at place: Int) -> Int {
        Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)))
    }
}
