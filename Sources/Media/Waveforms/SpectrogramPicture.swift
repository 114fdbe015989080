import Conversion

/// Frequencies over time as a picture: a lane for each channel, the time below, the frequencies on the left, and on the
/// right which colour means which level.
struct SpectrogramPicture {
    let width: Int
    let height: Int
    let scale: Int
    let hasAxes: Bool
    let lanes: Int
    /// What each row of a lane shows.
    let rows: FrequencyRows
    /// Where the sound lies.
    let plot: (left: Int, top: Int, width: Int, height: Int)

    private let theme: Recipe.Waveform.Theme

    /// The levels between the faintest and the strongest colour, in decibels.
    static let range = 80.0
    /// Below this nothing counts as loud, so that silence stays silent.
    private static let leastCeiling = -60.0
    /// Colours of levels. Bytes below 144 are short in a PNG.
    static let colours = 128
    private static let shades = 15
    private static let background = UInt8(colours)
    /// Between channels, in pixels.
    private static let gap = 3

    init(_ settings: Recipe.Waveform, sampleRateHz: Int, channelCount: Int) {
        (width, height) = settings.size
        theme = settings.theme ?? .light
        // Twice as high means twice as wide lines, for screens with fine pixels.
        let scale = max(1, min(8, min(height / 300, width / 600)))
        self.scale = scale
        hasAxes = width >= 240 * scale && height >= 100 * scale
        plot =
            hasAxes
            ? (58 * scale, 12 * scale, width - 128 * scale, height - 36 * scale) : (0, 0, width, height)
        lanes = max(1, min(channelCount, plot.height / (1 + Self.gap * scale)))
        let rows = (plot.height - (lanes - 1) * Self.gap * scale) / lanes
        self.rows = FrequencyRows(settings.spectrogram ?? .mel, count: rows, sampleRateHz: sampleRateHz)
    }

    /// Writes the picture as PNG. Only one row of it is in memory.
    func writePNG(_ overview: SpectrumOverview, frames: Int64, to sink: ByteSink) throws {
        let file = try PNGFile(width: width, height: height, palette: palette, to: sink)
        let ceiling = Self.ceiling(of: overview)
        let columns = PixelColumns(plot.width, overview, frames: frames)
        let texts = hasAxes ? texts(frames: frames, ceiling) : []
        for y in 0..<height {
            var row = [UInt8](repeating: Self.background, count: width)
            if let (lane, place) = lane(at: y) {
                for x in 0..<plot.width {
                    let level = columns.level(x, overview, row: lane * rows.count + place)
                    row[plot.left + x] = Self.colour(of: level - ceiling)
                }
            }
            if hasAxes { drawBar(y, in: &row) }
            for text in texts { text.draw(y, in: &row, shade: Self.shade) }
            try file.add(row)
        }
        try file.finish()
    }

    /// The lane of a row of pixels, and its row in the lane; `nil` outside of all lanes.
    private func lane(at y: Int) -> (Int, Int)? {
        let distance = rows.count + Self.gap * scale
        guard y >= plot.top else { return nil }
        let (lane, row) = (y - plot.top).quotientAndRemainder(dividingBy: distance)
        return lane < lanes && row < rows.count ? (lane, row) : nil
    }

    /// The level of the strongest colour: the loudest of the sound, rounded up to tens.
    static func ceiling(of overview: SpectrumOverview) -> Double {
        let loudest = decibels(overview.powers.max() ?? 0)
        return max(leastCeiling, (loudest / 10 - 0.001).rounded(.up) * 10)
    }

    static func decibels(_ power: Float) -> Double { power > 1e-30 ? 10 * Exponent.decimal(Double(power)) : -300 }

    /// For a level below the ceiling.
    static func colour(of level: Double) -> UInt8 {
        let part = min(1, max(0, 1 + level / range))
        return UInt8((part * Double(colours - 1)).rounded())
    }

    private static func shade(_ covered: UInt8) -> UInt8 {
        background + UInt8((Int(covered) * shades + 127) / 255)
    }

    // MARK: Axes

    private func texts(frames: Int64, _ ceiling: Double) -> [PlacedText] {
        var texts: [PlacedText] = []
        let bottom = plot.top + lanes * rows.count + (lanes - 1) * Self.gap * scale
        let right = plot.left + plot.width
        let distance = Double(18 * scale)
        for lane in 0..<lanes where rows.count >= 24 * scale {
            let top = plot.top + lane * (rows.count + Self.gap * scale)
            for mark in rows.marks(distance: distance) {
                let y = top + min(rows.count - 1, Int(mark.place))
                texts.append(PlacedText(line: plot.left - 6 * scale, y, 4 * scale, scale))
                texts.append(PlacedText(mark.text, endingAt: plot.left - 9 * scale, around: y, scale))
            }
        }
        let seconds = Double(frames) / (rows.highest * 2)
        for mark in TimeAxis(seconds: seconds, width: plot.width, distance: 80 * Double(scale)).marks {
            let x = plot.left + min(plot.width - 1, Int(mark.place))
            texts.append(PlacedText(line: x, bottom + 2 * scale, scale, 4 * scale))
            let text = PlacedText(mark.text, around: x, from: bottom + 9 * scale, scale)
            if text.left >= 0, text.left + text.text.width <= right + 20 * scale { texts.append(text) }
        }
        let steps = plot.height >= 150 * scale ? 4 : 2
        for step in 0...steps {
            let part = Double(step) / Double(steps)
            let y = plot.top + Int(part * Double(bottom - plot.top - 1))
            let level = Int(ceiling - part * Self.range)
            let text = step == 0 ? "\(level) dB" : "\(level)"
            texts.append(PlacedText(text, startingAt: right + 25 * scale, around: y, scale))
        }
        return texts
    }

    /// What the colours mean, the loudest above.
    private func drawBar(_ y: Int, in row: inout [UInt8]) {
        let length = lanes * rows.count + (lanes - 1) * Self.gap * scale
        guard (plot.top..<plot.top + length).contains(y) else { return }
        let level = -Double(y - plot.top) / Double(max(1, length - 1)) * Self.range
        let start = plot.left + plot.width + 12 * scale
        for x in start..<start + 9 * scale { row[x] = Self.colour(of: level) }
    }

    // MARK: Colours

    /// The colours of the levels from below, then those from the background to the text.
    private var palette: [PNGColour] {
        let scheme = Scheme(theme)
        let levels = (0..<Self.colours).map { scheme.colour(Double($0) / Double(Self.colours - 1)) }
        let shades = (0...Self.shades).map { shade in
            scheme.background.mixed(with: scheme.text, Double(shade) / Double(Self.shades))
        }
        return levels + shades
    }

    private struct Scheme {
        let background: PNGColour
        let text: PNGColour
        private let stops: [PNGColour]

        init(_ theme: Recipe.Waveform.Theme) {
            let text = PNGColour(PictureColours(theme).text)
            self.text = text
            let isTransparent = theme == .transparent
            let colours: [UInt32]
            switch theme {
            case .light:
                background = PNGColour(0xFFFFFF)
                colours = [0xFFFFFF, 0xE3F1F0, 0xA9D8D6, 0x56AEBB, 0x23779B, 0x254A85, 0x2B1F5C, 0x160B2E]
            case .dark:
                background = PNGColour(0x12181D)
                colours = [0x12181D, 0x1B2145, 0x432371, 0x83297C, 0xC43C6B, 0xF26B4E, 0xFBB25B, 0xFCF4C0]
            case .transparent:
                background = PNGColour(PictureColours(theme).text, opacity: 0)
                colours = [0x3F8FA8, 0x3F8FA8, 0x3F8FA8, 0x4F86B4, 0x7A74BE, 0xB064B4, 0xDB5C92, 0xF0655F]
            }
            stops = colours.enumerated().map { place, colour in
                PNGColour(colour, opacity: isTransparent ? Double(place) / Double(colours.count - 1) : 1)
            }
        }

        /// From 0, the faintest, to 1.
        func colour(_ part: Double) -> PNGColour {
            let place = part * Double(stops.count - 1)
            let first = min(stops.count - 2, Int(place))
            return stops[first].mixed(with: stops[first + 1], place - Double(first))
        }
    }
}
