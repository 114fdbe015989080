/// What a conversion did to the loudness of its source.
public struct LoudnessChange: Sendable, Hashable, Codable {
    /// The loudness that was asked for.
    public var targetLUFS: Double
    /// The ceiling for true peaks.
    public var ceilingDBTP: Double
    /// The source's sound before the change, with the rate and the channels of the output.
    public var measured: LoudnessReport
    /// The loudness of the album, all tracks of the batch together, before the change; `nil` if the gain is the track's own.
    public var albumLUFS: Double?
    /// The gain of every sample; 0 if the loudness could not be measured.
    public var gainDB: Double
    /// The frames in which the limiter reduced the gain further.
    public var limitedFrames: Int64
    /// The most that it was reduced.
    public var largestReductionDB: Double
    /// The integrated loudness of the sound that was encoded; `nil` if it could not be measured.
    public var reachedLUFS: Double?
    /// The integrated loudness of what a lossy output decodes to; `nil` for lossless ones, and if it could not be measured.
    public var encodedLUFS: Double?

    public init(
        targetLUFS: Double,
        ceilingDBTP: Double,
        measured: LoudnessReport,
        albumLUFS: Double? = nil,
        gainDB: Double,
        limitedFrames: Int64,
        largestReductionDB: Double,
        reachedLUFS: Double?
    ) {
        self.targetLUFS = targetLUFS
        self.ceilingDBTP = ceilingDBTP
        self.measured = measured
        self.albumLUFS = albumLUFS
        self.gainDB = gainDB
        self.limitedFrames = limitedFrames
        self.largestReductionDB = largestReductionDB
        self.reachedLUFS = reachedLUFS
    }

    /// The figures in hundredths.
    public var rounded: LoudnessChange {
        var change = self
        change.measured = measured.rounded
        change.albumLUFS = albumLUFS?.inHundredths
        change.gainDB = gainDB.inHundredths
        change.largestReductionDB = largestReductionDB.inHundredths
        change.reachedLUFS = reachedLUFS?.inHundredths
        change.encodedLUFS = encodedLUFS?.inHundredths
        return change
    }

    /// All figures, and those of the measurement.
    public var figures: [Double] {
        [targetLUFS, ceilingDBTP, gainDB, largestReductionDB] + [albumLUFS, reachedLUFS, encodedLUFS].compactMap { $0 }
            + measured.figures
    }

    /// How far the output may be from the target without a remark, in LU.
    public static let tolerance = 0.1
    /// By how much a lossy encoder may change the loudness without a remark, in LU.
    public static let encodersTolerance = 0.3
}
