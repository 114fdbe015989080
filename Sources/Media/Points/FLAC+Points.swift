import Conversion

/// The tracks and indices of FLAC's own CUE sheet.
extension FLAC {
    var chapterMarks: SourcePoint.Kind? { .cueTrack }

    func statedPoints(in source: ByteSource) -> StatedPoints {
        var stated = StatedPoints()
        guard let sheet = cueSheet(in: source), let tracks = sheet.number(at: 395, 1) else { return stated }
        var place = Self.sheetBytes
        for _ in 0..<tracks {
            guard let start = sheet.number(at: place, 8), let number = sheet.number(at: place + 8, 1),
                let indices = sheet.number(at: place + 35, 1)
            else { break }
            place += Self.trackBytes
            stated.chapterFrames.insert(start)
            // The last one stands for the end of the disc.
            let isLeadOut = number == 170 || number == 255 || indices == 0
            for _ in 0..<indices {
                guard let offset = sheet.number(at: place, 8), let index = sheet.number(at: place + 8, 1) else { break }
                place += Self.indexBytes
                let frames = 0...Plausible.frames
                guard !isLeadOut, frames.contains(start), frames.contains(offset) else { continue }
                if index == 1 { stated.chapterFrames.insert(start + offset) }
                let text = index == 1 ? "track \(number)" : "track \(number), index \(index)"
                stated.add(SourcePoint(index == 1 ? .cueTrack : .cueIndex, at: start + offset, text: text))
            }
        }
        return stated
    }

    private static let sheetBytes = 396
    private static let trackBytes = 36
    private static let indexBytes = 12

    private func cueSheet(in source: ByteSource) -> ChunkBytes? {
        let size = source.endSize ?? Int64(Int32.max)
        guard let block = FLACBlocks.first(FLACBlocks.cueSheet, in: source, size) else { return nil }
        let length = block.upperBound - block.lowerBound
        return ChunkBytes(source, at: block.lowerBound, size: length, isBig: true, least: Self.sheetBytes)
    }
}
