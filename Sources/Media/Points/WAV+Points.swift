import Conversion

/// Cue points with their labels and lengths, and the loops of samplers.
extension WAV {
    func statedPoints(in source: ByteSource) -> StatedPoints {
        RIFFPoints(source, WAVHeader.chunks(of: source)).stated
    }
}

/// The chunks of RIFF that mark places: `cue `, `smpl`, and lists of the type `adtl`.
struct RIFFPoints {
    private(set) var stated = StatedPoints()
    private let isBig: Bool
    private var labels: [Int64: String] = [:]
    private var lengths: [Int64: Int64] = [:]

    init(_ source: ByteSource, _ chunks: Chunks) {
        isBig = chunks.sizesAreBig
        var (cues, samplers): ([ChunkBytes], [ChunkBytes]) = ([], [])
        let isBig = isBig
        var lists: [ChunkBytes] = []
        chunks.each(in: source) { name, place, size in
            func content(_ least: Int) -> [ChunkBytes] {
                ChunkBytes(source, at: place, size: size, isBig: isBig, least: least).map { [$0] } ?? []
            }
            // A file has one of each. Further ones count as long as that is cheap.
            if name.elementsEqual("cue ".utf8), cues.count < 8 { cues += content(4) }
            if name.elementsEqual("smpl".utf8), samplers.count < 8 { samplers += content(36) }
            if name.elementsEqual("LIST".utf8), lists.count < 8 { lists += content(4).filter { $0.has("adtl", at: 0) } }
            return true
        }
        for list in lists { read(list) }
        for cue in cues { addCues(cue) }
        for sampler in samplers { addLoops(sampler) }
    }

    /// Labels and lengths by the number of their cue point. The first of each counts.
    private mutating func read(_ list: ChunkBytes) {
        var place = 4
        while let size = list.number(at: place + 4, 4), let id = list.number(at: place + 8, 4),
            labels.count < 2 * PointReport.mostOfKind, lengths.count < 2 * PointReport.mostOfKind
        {
            let length = Int(size)
            let text = place + 12
            if list.has("labl", at: place), labels[id] == nil {
                labels[id] = list.text(at: text, length - 4)
            } else if list.has("ltxt", at: place) {
                // The length, four letters for its purpose, four numbers of two bytes, and a text.
                if let frames = list.number(at: text, 4), length >= 8, lengths[id] == nil { lengths[id] = frames }
                if labels[id] == nil, let words = list.text(at: text + 16, length - 20) { labels[id] = words }
            }
            place += 8 + length + length % 2
        }
    }

    private static let cueBytes = 24

    private mutating func addCues(_ chunk: ChunkBytes) {
        let count = chunk.number(at: 0, 4) ?? 0
        let held = Int64((chunk.count - 4) / Self.cueBytes)
        for index in 0..<Int(min(count, held)) {
            let place = 4 + index * Self.cueBytes
            guard let id = chunk.number(at: place, 4), let frame = chunk.number(at: place + 20, 4) else { continue }
            stated.chapterFrames.insert(frame)
            // In a list of pieces (wavl), a place may lie in silence and is no frame of the sound.
            if chunk.has("slnt", at: place + 8) { continue }
            let frames = lengths[id] ?? 0
            stated.add(SourcePoint(frames > 0 ? .region : .cue, at: frame, frames: frames, text: labels[id]))
        }
    }

    private static let loopBytes = 24

    private mutating func addLoops(_ chunk: ChunkBytes) {
        let count = chunk.number(at: 28, 4) ?? 0
        let held = Int64((chunk.count - 36) / Self.loopBytes)
        for index in 0..<Int(min(count, held, Int64(PointReport.mostOfKind))) {
            let place = 36 + index * Self.loopBytes
            guard let id = chunk.number(at: place, 4), let type = chunk.number(at: place + 4, 4),
                let first = chunk.number(at: place + 8, 4), let last = chunk.number(at: place + 12, 4), last >= first
            else { continue }
            let words = [Self.word(type), labels[id]].compactMap { $0 }.joined(separator: ", ")
            // The last frame is played, too.
            stated.add(SourcePoint(.loop, at: first, frames: last - first + 1, text: PointText.bounded(words)))
        }
        stated.addUnread(min(count, held) - Int64(PointReport.mostOfKind), .loop)
    }

    private static func word(_ type: Int64) -> String? {
        switch type {
        case 0: "forward"
        case 1: "alternating"
        case 2: "backward"
        default: nil
        }
    }
}
