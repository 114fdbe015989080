/// The channel layout as Apple's containers state it: the content of the chunk or box `chan`.
///
/// libav knows which speakers a tag names, and takes the order of its own mask for their order. Where the order differs,
/// it calls channels by wrong names.
enum AppleLayout {
    /// The tags of layouts that are not named by a number: labels for all channels, or a bit for each speaker, as in
    /// WAVE.
    static let (usesLabels, usesBits) = (UInt32(0), UInt32(1 << 16))
    /// Bytes before the labels, and bytes of a label with its flags and coordinates.
    private static let (headBytes, labelBytes) = (12, 20)
    /// More than any layout that is read has.
    private static let mostLabels = 64
    /// The most bytes that a layout needs.
    static let greatestBytes = headBytes + mostLabels * labelBytes

    /// The speakers of `channelCount` channels. None is known if `content` is damaged, or of another number of channels:
    /// libav would change the number.
    static func speakers(_ content: [UInt8], channelCount: Int) -> SpeakerOrder {
        let named = speakers(content)
        return SpeakerOrder(named?.count == channelCount ? named ?? [] : Array(repeating: nil, count: channelCount))
    }

    private static func speakers(_ content: [UInt8]) -> [Int?]? {
        guard content.count >= headBytes else { return nil }
        let tag = UInt32(truncatingIfNeeded: bigEndian(content[0..<4]))
        switch tag {
        case usesLabels: return labelled(content)
        case usesBits: return bits(UInt32(truncatingIfNeeded: bigEndian(content[4..<8])))
        default: return AppleLayoutTags.speakers(of: tag)
        }
    }

    /// A number of channels that a header states; `nil` if nothing here reads as many.
    static func channelCount(_ stated: Int64) -> Int? { (1...Int64(mostLabels)).contains(stated) ? Int(stated) : nil }

    private static func bits(_ bits: UInt32) -> [Int?] { (0..<32).filter { bits >> UInt32($0) & 1 == 1 } }

    private static func labelled(_ content: [UInt8]) -> [Int?]? {
        let count = Int(bigEndian(content[8..<12]))
        guard (1...mostLabels).contains(count), content.count >= headBytes + count * labelBytes else { return nil }
        let labels = (0..<count).map { number in
            let place = headBytes + number * labelBytes
            return Int(bigEndian(content[place..<place + 4]))
        }
        // Surround speakers beside rear ones are at the sides; otherwise they are those behind, as in a mask.
        let areAtSides = labels.contains { rearSurrounds.contains($0) }
        // A matrix-encoded pair alone is played as left and right.
        let isOnlyPair = !labels.contains { frontPair.contains($0) }
        let lowFrequencies = labels.filter { Self.lowFrequencies.contains($0) }
        return labels.map { label in
            if areAtSides, let side = [surroundLeft: 9, surroundRight: 10][label] { return side }
            if isOnlyPair, let front = [matrixLeft: 0, matrixRight: 1][label] { return front }
            if let order = lowFrequencies.firstIndex(of: label) { return [3, 35, nil][min(order, 2)] }
            return others[label] ?? ((1...18).contains(label) ? label - 1 : nil)
        }
    }

    private static let frontPair: Set<Int> = [1, 2]
    private static let (surroundLeft, surroundRight) = (5, 6)
    private static let (matrixLeft, matrixRight) = (38, 39)
    private static let rearSurrounds: Set<Int> = [33, 34, 63, 64]
    private static let lowFrequencies: Set<Int> = [4, 37, 62]

    /// The speakers of labels beyond 18. Those up to 18 are the bits of the mask, counted from 1.
    private static let others: [Int: Int] = [
        // Rear, wide, matrix-encoded, mono.
        33: 4, 34: 5, 35: 31, 36: 32, matrixLeft: 29, matrixRight: 30, 42: 2,
        // Top middle and top rear, sides, bottom, top surround, back.
        49: 36, 51: 37, 52: 15, 53: 16, 54: 17, 55: 9, 56: 10, 57: 39, 58: 40, 59: 38, 60: 15, 61: 17, 63: 4, 64: 5,
        // X and Y, binaural, headphones.
        206: 0, 207: 1, 208: 0, 209: 1, 301: 0, 302: 1,
    ]
}

extension Chunks {
    /// The layout in the first chunk named `name`; `nil` without one. The bytes `count` of the chunk `shape` state the
    /// number of channels.
    func layout(_ name: String, in source: ByteSource, countIn shape: String, at count: Range<Int64>) -> SpeakerOrder? {
        guard let (place, size) = first(name, in: source), size > 0,
            let content = source.bytes(at: place, count: Int(min(size, Int64(AppleLayout.greatestBytes)))),
            let described = first(shape, in: source)?.place,
            let bytes = source.bytes(at: described + count.lowerBound, count: count.count),
            bytes.count == count.count, let channels = AppleLayout.channelCount(bigEndian(bytes))
        else { return nil }
        return AppleLayout.speakers(content, channelCount: channels)
    }
}
