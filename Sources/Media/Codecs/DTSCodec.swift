/// DTS.
struct DTSCodec: CodecRules {
    let names = ["dts"]
    let packets = CodecTraits(preroll: 8 * 1024)

    func length(of stream: InputStream) -> PacketLength.Rule {
        .stated { bytes in
            guard bytes.count >= 6, bytes[0] == 0x7F, bytes[1] == 0xFE, bytes[2] == 0x80, bytes[3] == 0x01 else {
                return nil
            }
            return (Int(bytes[4] & 1) << 6 | Int(bytes[5] >> 2)) * 32 + 32
        }
    }
}
