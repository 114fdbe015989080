import Conversion

/// Markers, and the loops of an instrument between two of them.
extension AIFF {
    var chapterMarks: SourcePoint.Kind? { .cue }

    func statedPoints(in source: ByteSource) -> StatedPoints {
        var (marks, instrument): (ChunkBytes?, ChunkBytes?) = (nil, nil)
        Chunks.iff.each(in: source) { name, place, size in
            if name.elementsEqual("MARK".utf8), marks == nil {
                marks = ChunkBytes(source, at: place, size: size, isBig: true, least: 2)
            } else if name.elementsEqual("INST".utf8), instrument == nil {
                instrument = ChunkBytes(source, at: place, size: size, isBig: true, least: 20)
            }
            return marks == nil || instrument == nil
        }
        var stated = StatedPoints()
        guard let marks else { return stated }
        let markers = addMarkers(of: marks, to: &stated)
        // Of two markers with one number, the first counts.
        let places = Dictionary(markers.map { ($0.id, $0.frame) }) { first, _ in first }
        var ends: Set<Int64> = []
        // The loop for a held key, and the one for a released key.
        for (place, name) in [(8, "sustain"), (14, "release")] {
            guard let mode = instrument?.number(at: place, 2), (1...2).contains(mode),
                let first = instrument?.signed16(at: place + 2), let last = instrument?.signed16(at: place + 4),
                let start = places[first], let end = places[last], end > start
            else { continue }
            ends.formUnion([first, last])
            let text = "\(name), \(mode == 1 ? "forward" : "alternating")"
            stated.add(SourcePoint(.loop, at: start, frames: end - start, text: text))
        }
        // The ends of a loop divide nothing.
        stated.chapterFrames.formUnion(markers.filter { !ends.contains($0.id) }.map(\.frame))
        return stated
    }

    /// Returns the markers in their order.
    private func addMarkers(of chunk: ChunkBytes, to stated: inout StatedPoints) -> [(id: Int64, frame: Int64)] {
        var markers: [(id: Int64, frame: Int64)] = []
        var place = 2
        for _ in 0..<(chunk.number(at: 0, 2) ?? 0) {
            guard let id = chunk.signed16(at: place), let frame = chunk.number(at: place + 2, 4),
                let length = chunk.number(at: place + 6, 1)
            else { break }
            stated.add(SourcePoint(.cue, at: frame, text: chunk.text(at: place + 7, Int(length))))
            markers.append((id, frame))
            // The counted string fills an even number of bytes.
            place += 6 + (Int(length) + 2) / 2 * 2
        }
        return markers
    }
}
