/// Distributes the sound of a speaker that the target lacks among the target's speakers.
///
/// A speaker is named by its bit in the mask. Folding attenuates by 3 dB (a factor of √½), as ITU-R BS.775 prescribes
/// for the centre and the surrounds. A speaker keeps its level if the source has no sound in its neighbour's place.
struct SpeakerFolding {
    let source: UInt64
    let target: UInt64

    init(from source: ChannelLayout, to target: ChannelLayout) {
        self.source = source.mask
        self.target = target.mask
    }

    /// Speakers of the target, and the gain at which each plays `speaker`; empty if a low-frequency channel has no
    /// place. `nil` if the target has no neighbour.
    func places(of speaker: Int) -> [(speaker: Int, gain: Double)]? { places(of: speaker, after: []) }

    private static let halfPower = 0.5.squareRoot()

    /// Takes the first group of neighbours that the target has. If it has none, follows the last group, which leads
    /// to the front. `visited` holds the speakers that the sound came from.
    private func places(of speaker: Int, after visited: Set<Int>) -> [(speaker: Int, gain: Double)]? {
        if Self.has(target, speaker) { return [(speaker, 1)] }
        if [Speaker.lowFrequency, Speaker.secondLowFrequency].contains(speaker) {
            let other = Speaker.lowFrequency
            return Self.has(target, other) ? [(other, gain(from: speaker, to: [other]))] : []
        }
        let groups = Speaker.neighbours(of: speaker)
        let direct = groups.first { $0.allSatisfy { Self.has(target, $0) } }
        guard let group = direct ?? groups.last, visited.isDisjoint(with: group) else { return nil }
        let origin = visited.union([speaker])
        var found: [(speaker: Int, gain: Double)] = []
        for neighbour in group {
            guard let places = places(of: neighbour, after: origin) else { return nil }
            found += places.map { ($0.speaker, $0.gain * gain(from: speaker, to: group)) }
        }
        return found
    }

    private func gain(from speaker: Int, to group: [Int]) -> Double {
        let placeIsFree = group.allSatisfy { !Self.has(source, $0) }
        switch (speaker, group) {
        // A centre channel alone, as in mono, keeps its level on both sides.
        case (Speaker.frontCentre, _): return placeIsFree ? 1 : Self.halfPower
        // From behind to the front, and from one speaker to two.
        case (Speaker.backCentre, [Speaker.frontLeft, Speaker.frontRight]): return 0.5
        case (Speaker.backCentre, _): return Self.halfPower
        // A left and a right speaker that both fold into the middle are attenuated: each finds the other one there.
        case (_, [Speaker.frontCentre]), (_, [Speaker.backCentre]):
            return placeIsFree && Speaker.isInTheMiddle(speaker) ? 1 : Self.halfPower
        default: return placeIsFree ? 1 : Self.halfPower
        }
    }

    private static func has(_ mask: UInt64, _ speaker: Int) -> Bool { mask & (1 << UInt64(speaker)) != 0 }
}

/// The bits of a layout's mask, and the neighbours of each speaker.
private enum Speaker {
    static let (frontLeft, frontRight, frontCentre, lowFrequency) = (0, 1, 2, 3)
    static let (backLeft, backRight, leftOfCentre, rightOfCentre, backCentre) = (4, 5, 6, 7, 8)
    static let (sideLeft, sideRight, topCentre) = (9, 10, 11)
    static let (topFrontLeft, topFrontCentre, topFrontRight) = (12, 13, 14)
    static let (topBackLeft, topBackCentre, topBackRight) = (15, 16, 17)
    static let (downmixLeft, downmixRight, wideLeft, wideRight) = (29, 30, 31, 32)
    static let (directLeft, directRight, secondLowFrequency) = (33, 34, 35)
    static let (topSideLeft, topSideRight) = (36, 37)
    static let (bottomFrontCentre, bottomFrontLeft, bottomFrontRight) = (38, 39, 40)

    static func isInTheMiddle(_ speaker: Int) -> Bool {
        [topCentre, topFrontCentre, topBackCentre, bottomFrontCentre].contains(speaker)
    }

    /// Groups of neighbours, the first choice first. A sound that goes to a group goes to every speaker in it.
    static func neighbours(of speaker: Int) -> [[Int]] {
        switch speaker {
        case frontLeft, frontRight: [[frontCentre]]
        case frontCentre: [[frontLeft, frontRight]]
        case backLeft: [[sideLeft], [backCentre], [frontLeft]]
        case backRight: [[sideRight], [backCentre], [frontRight]]
        case sideLeft: [[backLeft], [backCentre], [frontLeft]]
        case sideRight: [[backRight], [backCentre], [frontRight]]
        case backCentre: [[backLeft, backRight], [sideLeft, sideRight], [frontLeft, frontRight]]
        case leftOfCentre, wideLeft, bottomFrontLeft, topFrontLeft, downmixLeft: [[frontLeft]]
        case rightOfCentre, wideRight, bottomFrontRight, topFrontRight, downmixRight: [[frontRight]]
        case topCentre, topFrontCentre, bottomFrontCentre: [[frontCentre]]
        case topBackLeft: [[backLeft]]
        case topBackRight: [[backRight]]
        case topBackCentre: [[backCentre]]
        case topSideLeft, directLeft: [[sideLeft]]
        case topSideRight, directRight: [[sideRight]]
        default: []
        }
    }
}
