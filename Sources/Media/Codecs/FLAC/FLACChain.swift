/// FLAC files of which one follows the other in the same source. The format does not know that, but players and libav
/// read on.
///
/// The header of each later file lies behind the last frame of the one before, and libav delivers it with that frame.
struct FLACChain {
    /// Frames of all files so far, at the rate of the first; `nil` if a header does not state them.
    private(set) var promisedFrames: Int64?
    /// Whether a second file was found.
    private(set) var isJoined = false
    /// Whether the numbers of the frames begin anew with the next packet.
    private(set) var startsAnew = false
    private let rate: Int
    /// The same as `promisedFrames`, at the rate of each file.
    private var countedFrames: Int64?

    private static let mark = Array("fLaC".utf8)
    /// Of the header: the mark, the head of its first block, and that block up to the number of frames.
    private static let headBytes = 26

    /// Before the header of another file, libav puts several frames into one packet, of which only the first is counted.
    private static let slack: Int64 = 1 << 18

    init(promisedFrames: Int64?, rate: Int) {
        (self.promisedFrames, countedFrames, self.rate) = (promisedFrames, promisedFrames, rate)
    }

    /// Looks for the header of another file in a packet, at whose end `frames` frames were given; `nil` if unknown.
    mutating func look(in packet: borrowing Packet, at frames: Int64?) {
        startsAnew = false
        // Sound may hold the mark. Near the end of the promised frames it means another file.
        if let frames, let countedFrames, frames < countedFrames - Self.slack { return }
        packet.withBytes { bytes in
            var place = 0
            while let next = Packet.place(of: Self.mark, in: bytes, from: place) {
                place = next + Self.mark.count
                let head = Array(bytes[next..<min(next + Self.headBytes, bytes.count)])
                // The first block is the stream's description, 34 bytes long, and possibly the only one.
                let isHead = zip(head.dropFirst(4), [UInt8(0), 0, 0, 34]).enumerated().allSatisfy {
                    $0.element.0 & ($0.offset == 0 ? 0x7F : 0xFF) == $0.element.1
                }
                if isHead { add(head) }
            }
        }
    }

    private mutating func add(_ head: [UInt8]) {
        (isJoined, startsAnew) = (true, true)
        guard head.count == Self.headBytes else {
            // The source ends inside the header. Encoders write a header in front of sound, so that at least a frame is missing.
            promisedFrames = promisedFrames.map { $0 + 1 }
            return
        }
        let (otherRate, total) = (Int(bigEndian(head[18..<21]) >> 4), bigEndian([head[21] & 0x0F] + head[22..<26]))
        guard total > 0, otherRate > 0, let promised = promisedFrames, let counted = countedFrames else {
            (promisedFrames, countedFrames) = (nil, nil)
            return
        }
        countedFrames = counted + total
        // One frame less for what the clock rounds.
        let scaled = otherRate == rate ? total : max(0, total.scaledSaturated(by: rate, over: otherRate) - 1)
        promisedFrames = promised + scaled
    }
}
