import Conversion

/// Peaks as a picture: a lane for each channel, and below them the time. What is the same for all kinds of pictures.
struct WaveformPicture {
    let width: Int
    let height: Int
    let colours: PictureColours
    private let peaks: Peaks
    private let frames: Int64

    /// The least height of a picture that has an axis, and the height of the axis.
    private static let leastHeightWithAxis = 60
    private static let usualAxisHeight = 20
    /// How much of its lane full scale takes.
    private static let extent = 0.96

    init(_ peaks: Peaks, frames: Int64, _ settings: Recipe.Waveform) {
        (self.peaks, self.frames) = (peaks, frames)
        (width, height) = settings.size
        colours = PictureColours(settings.theme ?? .light)
    }

    /// What the picture shows, for people who do not see it.
    var title: String {
        "Waveform of " + Figures.length(frames: frames, rate: max(1, peaks.sampleRateHz))
    }

    /// The height of the lanes together. `scale` is how many pixels lines are wide.
    func area(scale: Int = 1) -> Int {
        height < Self.leastHeightWithAxis * scale ? height : height - Self.usualAxisHeight * scale
    }

    func hasAxis(scale: Int = 1) -> Bool { area(scale: scale) < height }

    func axis(scale: Int = 1) -> TimeAxis {
        let seconds = Double(frames) / Double(max(1, peaks.sampleRateHz))
        return TimeAxis(seconds: seconds, width: width, distance: 80 * Double(scale))
    }

    /// The line in the middle of each channel's lane, from above.
    func centres(scale: Int = 1) -> [Double] {
        let lane = Double(area(scale: scale)) / Double(max(1, peaks.channelCount))
        return (0..<peaks.channelCount).map { (Double($0) + 0.5) * lane }
    }

    /// What a column of a channel covers, in pixels from above.
    struct Column: Hashable {
        let top: Double
        let bottom: Double
    }

    /// As many columns as wanted, or one for each window if there are fewer.
    func columns(of channel: Int, _ wanted: Int, scale: Int = 1) -> [Column] {
        let centre = centres(scale: scale)[channel]
        let lane = Double(area(scale: scale)) / Double(max(1, peaks.channelCount))
        let level = lane / 2 * Self.extent / 32_768
        let (count, windows) = (min(wanted, peaks.count), peaks.count)
        return (0..<count).map { index in
            let first = index * windows / count
            var (least, greatest) = (peaks.least(first, channel: channel), peaks.greatest(first, channel: channel))
            for window in first + 1..<max(first + 1, (index + 1) * windows / count) {
                least = min(least, peaks.least(window, channel: channel))
                greatest = max(greatest, peaks.greatest(window, channel: channel))
            }
            let (top, bottom) = (centre - Double(greatest) * level, centre - Double(least) * level)
            // Silence is a thin line.
            let missing = max(0, Double(scale) - (bottom - top)) / 2
            return Column(top: top - missing, bottom: bottom + missing)
        }
    }
}
