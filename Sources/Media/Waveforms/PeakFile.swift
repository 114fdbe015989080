import Conversion

/// Writes peaks as audiowaveform does, in version 2 of its formats: as `.dat` or as JSON.
///
/// The data goes to the output as it is found, so memory does not grow with the length of the sound. The number of windows
/// stands before them and is put in at the end.
final class PeakFile: PeakStore {
    let framesPerPair: Int
    private let bits: Int
    private let isJSON: Bool
    /// The windows that a `.dat` file can count.
    private let mostWindows: Int64
    private let sink: ByteSink
    private var pending: [UInt8] = []
    /// Windows so far.
    private(set) var length: Int64 = 0
    /// Where the number of windows stands in the file.
    private var placeOfLength: Int64 = 0

    /// JSON has room for this many digits, the rest of which are blanks.
    private static let lengthDigits = 19
    private static let pendingBytes = 16 * 1_024

    init(framesPerPair: Int, bits: Int, isJSON: Bool, to sink: ByteSink, mostWindows: Int64 = Int64(UInt32.max)) {
        (self.framesPerPair, self.bits, self.isJSON, self.sink) = (framesPerPair, bits, isJSON, sink)
        self.mostWindows = mostWindows
    }

    func begin(sampleRateHz: Int, channelCount: Int) throws {
        if isJSON {
            let start =
                "{\"version\":2,\"channels\":\(channelCount),\"sample_rate\":\(sampleRateHz)"
                + ",\"samples_per_pixel\":\(framesPerPair),\"bits\":\(bits),\"length\":"
            placeOfLength = Int64(start.utf8.count)
            let blanks = String(repeating: " ", count: Self.lengthDigits)
            pending += Array("\(start)\(blanks),\"data\":[".utf8)
        } else {
            placeOfLength = 16
            // Version, flags (bit 0: values of 8 bits), rate, frames of a window, windows, channels.
            let words: [Int] = [2, bits == 8 ? 1 : 0, sampleRateHz, framesPerPair, 0, channelCount]
            for word in words {
                pending += littleEndian(Int32(clamping: word))
            }
        }
    }

    func add(_ window: [Int16]) throws {
        guard isJSON || length < mostWindows else {
            throw MediaError(
                .outputTooLarge,
                at: .write,
                "a .dat file cannot count more than \(mostWindows) pairs of peaks",
                hint: "take more frames for each pair, or JSON"
            )
        }
        if isJSON { addText(of: window) } else { addNumbers(of: window) }
        length += 1
        if pending.count >= Self.pendingBytes { try write() }
    }

    private func addText(of window: [Int16]) {
        for (index, value) in window.enumerated() {
            if length > 0 || index > 0 { pending.append(UInt8(ascii: ",")) }
            pending += Array(String(stored(value)).utf8)
        }
    }

    private func addNumbers(of window: [Int16]) {
        let start = pending.count
        pending += repeatElement(0, count: window.count * bits / 8)
        // One check of access for the window instead of one for each byte.
        pending.withUnsafeMutableBufferPointer { bytes in
            var place = start
            for value in window {
                let number = stored(value)
                bytes[place] = UInt8(truncatingIfNeeded: number)
                place += 1
                guard bits == 16 else { continue }
                bytes[place] = UInt8(truncatingIfNeeded: number >> 8)
                place += 1
            }
        }
    }

    /// Truncated towards zero: -1 becomes 0, and -32,768 becomes -128.
    private func stored(_ value: Int16) -> Int16 { bits == 8 ? value / 256 : value }

    /// Completes the file.
    func finish() throws {
        if isJSON { pending += Array("]}\n".utf8) }
        try write()
        try sink.flush()
        let number = isJSON ? Array(String(length).utf8) : littleEndian(UInt32(truncatingIfNeeded: length))
        try sink.patch(number, at: placeOfLength)
        try sink.cutAtEnd()
    }

    private func write() throws {
        guard !pending.isEmpty else { return }
        try sink.append(pending)
        pending.removeAll(keepingCapacity: true)
    }

    private func littleEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}
