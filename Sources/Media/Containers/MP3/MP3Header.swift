/// The Xing, Info or VBRI header of an MP3, with LAME's delay and padding.
struct MP3Header {
    /// Frames that the decoder gives, including priming and padding but not the header's own frame.
    let frames: Int64
    /// Frames to drop before the sound; zero if the encoder states none.
    let priming: Int
    /// Where padding begins, on the same count as `frames`; `nil` if the encoder states none.
    let soundEnd: Int64?
    /// Whether the file is much longer than the header states. `false` for a pipe, whose length is not known.
    let isJoined: Bool
    /// Where the header begins, and the bytes that it counts from there on; zero if it counts none.
    private let place: Int64
    private let countedBytes: Int64

    /// The frames between priming and padding, and their tolerance.
    var facts: ContainerFacts {
        // When other files were appended, the header counts only the first. libav ignores it then, too.
        if isJoined { return ContainerFacts(droppedFrames: priming) }
        guard let soundEnd else {
            // Without LAME's fields, the count may or may not include the header's own frame.
            return ContainerFacts(soundFrames: frames, tolerance: 1152)
        }
        return ContainerFacts(
            droppedFrames: priming,
            paddingFrames: Int(max(0, frames - soundEnd)),
            soundFrames: max(0, soundEnd - Int64(priming))
        )
    }

    /// Whether a source of `bytes` has all those that the header counts; `false` if it counts none.
    func hasAllBytes(ofSourceOf bytes: Int64) -> Bool { countedBytes > 0 && bytes - place >= countedBytes }

    /// Whether the frame that begins with `head` is such a header and holds no sound. Needs at least 40 bytes.
    static func isInfo(_ head: UnsafeRawBufferPointer) -> Bool {
        guard head.count >= 40, head[0] == 0xFF else { return false }
        if isWord(head, at: 36, "VBRI") { return true }
        let place = 4 + sideBytes(head[1], head[3])
        guard isWord(head, at: place, "Xing") || isWord(head, at: place, "Info") else { return false }
        // A frame of sound has bits set there. A protected frame has its checksum there: LAME does not shift the word.
        let isProtected = head[1] & 1 == 0
        return head[(isProtected ? 6 : 4)..<place].allSatisfy { $0 == 0 }
    }

    /// Reads the frame at `place`; `nil` if it is not a header that counts frames.
    init?(_ source: ByteSource, at place: Int64, bytes: Int, framesPerFrame: Int) {
        guard let frame = source.bytes(at: place, count: min(max(bytes, 0), 512)), frame.count >= 64,
            frame.withUnsafeBytes(MP3Header.isInfo)
        else { return nil }
        let info = 4 + MP3Header.sideBytes(frame[1], frame[3])
        self.place = place
        let rest = source.size.map { $0 - place } ?? 0
        if frame[36..<40].elementsEqual("VBRI".utf8) {
            let counted = bigEndian(frame[46..<50])
            isJoined = counted > 0 && rest - counted > counted / 16
            countedBytes = counted
            let count = bigEndian(frame[50..<54])
            guard count > 0 else { return nil }
            (frames, priming, soundEnd) = (count * Int64(framesPerFrame), 0, nil)
            return
        }
        let flags = frame[info + 7]
        guard flags & 1 == 1 else { return nil }
        let count = bigEndian(frame[(info + 8)..<(info + 12)])
        guard count > 0 else { return nil }
        let counted = flags & 2 != 0 ? bigEndian(frame[(info + 12)..<(info + 16)]) : 0
        isJoined = counted > 0 && rest - counted > counted / 16
        countedBytes = counted
        frames = count * Int64(framesPerFrame)
        // After the fields for frames, bytes, TOC and quality, as far as they are present.
        let tail = info + 12 + (flags & 2 != 0 ? 4 : 0) + (flags & 4 != 0 ? 100 : 0) + (flags & 8 != 0 ? 4 : 0)
        guard tail + 24 <= frame.count,
            ["LAME", "Lavf", "Lavc"].contains(where: { frame[tail..<(tail + 4)].elementsEqual($0.utf8) })
        else {
            (priming, soundEnd) = (0, nil)
            return
        }
        let trims = bigEndian(frame[(tail + 21)..<(tail + 24)])
        priming = Int(trims >> 12) + MP3.decoderDelay
        soundEnd = frames - max(0, (trims & 0xFFF) - Int64(MP3.decoderDelay))
    }

    /// Bytes of side information in a frame of layer III.
    private static func sideBytes(_ second: UInt8, _ fourth: UInt8) -> Int {
        let isMono = fourth & 0xC0 == 0xC0
        return second & 0x18 == 0x18 ? (isMono ? 17 : 32) : (isMono ? 9 : 17)
    }

    private static func isWord(_ head: UnsafeRawBufferPointer, at place: Int, _ word: StaticString) -> Bool {
        place + 4 <= head.count && (0..<4).allSatisfy { head[place + $0] == word.utf8Start[$0] }
    }
}
