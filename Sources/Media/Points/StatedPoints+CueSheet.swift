import Conversion

extension StatedPoints {
    /// The indexes of a CUE sheet that a tag holds. `rate` is that of the track.
    init(cueSheet text: String, rate: Int) {
        self.init()
        // Real sheets have less than a thousand lines. The times of a second file are not those of this one.
        let sheet = CueList(tag: text, mostLines: 4 * PointReport.mostOfKind)
        for index in sheet.indexes.prefix(while: { $0.file <= 0 }) {
            guard let place = index.start.frames(atRate: rate) else { continue }
            let (number, begins) = (index.number ?? 0, index.index == 1)
            if begins { chapterFrames.insert(place.frames) }
            let names = [index.performer, index.title].compactMap(\.self).joined(separator: " - ")
            let start = "track \(number)" + (names.isEmpty ? "" : ": \(names)")
            add(
                SourcePoint(
                    begins ? .cueTrack : .cueIndex,
                    at: place.frames,
                    text: PointText.bounded(begins ? start : "track \(number), index \(index.index)"),
                    isRounded: !place.isExact
                )
            )
        }
    }
}
