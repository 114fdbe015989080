/// How loud a track is, measured as EBU R 128 and ITU-R BS.1770 define.
///
/// A figure is `nil` where nothing could be measured: silence has no level.
public struct LoudnessReport: Sendable, Hashable, Codable {
    /// The loudness of the whole track; `nil` if no 400 ms of it reach -70 LUFS.
    public var integratedLUFS: Double?
    /// The distance between soft and loud passages (EBU Tech 3342); `nil` if no three seconds reach -70 LUFS.
    public var rangeLU: Double?
    /// The loudest 400 ms.
    public var momentaryMaxLUFS: Double?
    /// The loudest three seconds.
    public var shortTermMaxLUFS: Double?
    /// The largest sample.
    public var samplePeakDBFS: Double?
    /// The largest value of the sound between the samples, by four times oversampling.
    public var truePeakDBTP: Double?

    public init(
        integratedLUFS: Double? = nil,
        rangeLU: Double? = nil,
        momentaryMaxLUFS: Double? = nil,
        shortTermMaxLUFS: Double? = nil,
        samplePeakDBFS: Double? = nil,
        truePeakDBTP: Double? = nil
    ) {
        self.integratedLUFS = integratedLUFS
        self.rangeLU = rangeLU
        self.momentaryMaxLUFS = momentaryMaxLUFS
        self.shortTermMaxLUFS = shortTermMaxLUFS
        self.samplePeakDBFS = samplePeakDBFS
        self.truePeakDBTP = truePeakDBTP
    }

    /// The figures in hundredths, which is more than ears and the standards' tolerances can tell.
    public var rounded: LoudnessReport {
        LoudnessReport(
            integratedLUFS: integratedLUFS?.inHundredths,
            rangeLU: rangeLU?.inHundredths,
            momentaryMaxLUFS: momentaryMaxLUFS?.inHundredths,
            shortTermMaxLUFS: shortTermMaxLUFS?.inHundredths,
            samplePeakDBFS: samplePeakDBFS?.inHundredths,
            truePeakDBTP: truePeakDBTP?.inHundredths
        )
    }

    /// All figures that were measured.
    public var figures: [Double] {
        [integratedLUFS, rangeLU, momentaryMaxLUFS, shortTermMaxLUFS, samplePeakDBFS, truePeakDBTP].compactMap { $0 }
    }
}

extension Double {
    /// The nearest hundredth, never -0.
    var inHundredths: Double { (self * 100).rounded() / 100 + 0 }
}
