extension Packet {
    /// The header of a FLAC packet; `nil` for other packets.
    var flacHeader: FLACFrameHeader? { withBytes { FLACFrameHeader($0) } }

    /// Calls `body` with the headers of the further FLAC frames in a packet that begins with `first`. After damage,
    /// libav 7.1 puts several frames into one packet if their numbers follow one another.
    func eachFLACHeader(behind first: FLACFrameHeader, _ body: (FLACFrameHeader) -> Void) {
        withBytes { bytes in
            var last = first
            var place = 1
            while place + 1 < bytes.count {
                // No frame is shorter than its header and checksum.
                if bytes[place] == 0xFF, bytes[place + 1] & 0xFE == 0xF8,
                    let header = FLACFrameHeader(UnsafeRawBufferPointer(rebasing: bytes[place...])), header.isIntact,
                    header.follows(last)
                {
                    body(header)
                    last = header
                }
                place += 1
            }
        }
    }
}
