/// A row of pixels.
struct PixelRow {
    /// Red, green, blue and opacity of each pixel.
    private(set) var bytes: [UInt8]

    init(width: Int, background: UInt32?) {
        bytes = [UInt8](repeating: 0, count: 4 * width)
        if let background { fill(0, width, with: background) }
    }

    /// Covers pixels, as far as they are in the row.
    mutating func fill(_ start: Int, _ count: Int, with colour: UInt32, _ opacity: Double = 1) {
        for x in max(0, start)..<max(0, start, min(start + count, bytes.count / 4)) { blend(x, with: colour, opacity) }
    }

    /// Covers a part of a pixel.
    mutating func blend(_ x: Int, with colour: UInt32, _ covered: Double) {
        let place = 4 * x
        let below = Double(bytes[place + 3]) / 255 * (1 - covered)
        let opacity = covered + below
        for channel in 0..<3 {
            let new = Double(colour >> UInt32(16 - 8 * channel) & 0xFF)
            let mixed = (new * covered + Double(bytes[place + channel]) * below) / opacity
            bytes[place + channel] = UInt8(mixed.rounded())
        }
        bytes[place + 3] = UInt8((min(1, opacity) * 255).rounded())
    }
}
