extension Packet {
    /// Whether the bytes are an ID3 or APE tag, as found between concatenated MP3 files.
    var isTag: Bool {
        withBytes { bytes in
            guard bytes.count >= 3, bytes[0] != 0xFF else { return false }
            return (bytes[0] == 0x49 && bytes[1] == 0x44 && bytes[2] == 0x33)
                || (bytes[0] == 0x54 && bytes[1] == 0x41 && bytes[2] == 0x47)
                || (bytes[0] == 0x41 && bytes[1] == 0x50 && bytes[2] == 0x45)
        }
    }
}
