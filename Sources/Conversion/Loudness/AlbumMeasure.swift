/// How loud some sound is, in a form that can be added up: the loudness of several tracks is not the mean of theirs.
///
/// It counts the blocks of 400 ms that reach -70 LUFS, by their loudness in steps of 0.1 LU, and sums the energies of each
/// step. From such a sum, the gates of EBU R 128 can be computed for all tracks together.
public struct AlbumMeasure: Sendable, Hashable, Codable {
    /// The number of steps, from -70 to 50 LUFS.
    public static let stepCount = 1_200
    /// The step of 24 LUFS. Louder blocks count as if they were in it. Full-scale samples stay below it even in 64 channels
    /// (18 dB), all of them weighted as surround (1.5 dB) and high in pitch (4 dB); only floats beyond full scale reach it.
    public static let loudestStep = 940
    /// The highest true peak that counts, for the same reason.
    public static let highestPeakDBTP = 24.0
    /// The loudness at which the first step begins, and the height of a step.
    public static let floorLUFS = -70.0
    public static let stepLU = 0.1

    /// The steps that have blocks, in rising order.
    public var steps: [Int]
    /// For each of these steps, the number of blocks, and the sum of their mean energies.
    public var blocks: [Int64]
    public var energies: [Double]
    /// The highest true peak; `nil` for silence.
    public var truePeakDBTP: Double?

    public init(steps: [Int] = [], blocks: [Int64] = [], energies: [Double] = [], truePeakDBTP: Double? = nil) {
        self.steps = steps
        self.blocks = blocks
        self.energies = energies
        self.truePeakDBTP = truePeakDBTP
    }
}

/// What a job has measured before its album's loudness is known.
public struct TrackMeasure: Sendable, Hashable, Codable {
    /// The figures of the track by itself.
    public var report: LoudnessReport
    /// Its part of the album.
    public var album: AlbumMeasure

    public init(report: LoudnessReport, album: AlbumMeasure) {
        self.report = report
        self.album = album
    }
}

/// How loud the album of a job is: all tracks of its batch together.
public struct AlbumLoudness: Sendable, Hashable, Codable {
    /// The sum over all tracks.
    public var measure: AlbumMeasure
    /// What the job itself has measured; `nil` if it did not.
    public var track: LoudnessReport?

    public init(measure: AlbumMeasure, track: LoudnessReport? = nil) {
        self.measure = measure
        self.track = track
    }
}
