import Conversion

/// Markers and regions, whose names stand in a list of strings, and the regions that an instrument plays in a loop.
extension CAF {
    var chapterMarks: SourcePoint.Kind? { .cue }

    func statedPoints(in source: ByteSource) -> StatedPoints {
        var found: [String: ChunkBytes] = [:]
        let wanted = [("mark", 8), ("regn", 8), ("strg", 4), ("inst", 24)]
        Self.chunks.each(in: source) { name, place, size in
            for (other, least) in wanted where found[other] == nil && name.elementsEqual(other.utf8) {
                found[other] = ChunkBytes(source, at: place, size: size, isBig: true, least: least)
            }
            return found.count < wanted.count
        }
        var stated = StatedPoints()
        let names = found["strg"].map(Self.strings) ?? [:]
        if let marks = found["mark"] { Self.addMarkers(of: marks, names, to: &stated) }
        if let regions = found["regn"] {
            Self.addRegions(of: regions, names, roles: found["inst"].map(Self.roles) ?? [:], to: &stated)
        }
        return stated
    }

    /// What an instrument plays regions for, by their numbers. Zero stands for none.
    private static func roles(in chunk: ChunkBytes) -> [Int64: String] {
        var roles: [Int64: String] = [:]
        for (place, role) in [(16, "sustain"), (20, "release")] {
            guard let id = chunk.number(at: place, 4), id != 0 else { continue }
            roles[id] = roles[id].map { "\($0) and \(role)" } ?? role
        }
        return roles
    }

    private static func strings(in chunk: ChunkBytes) -> [Int64: String] {
        let stringBytes = 12
        let count = min(chunk.number(at: 0, 4) ?? 0, Int64((chunk.count - 4) / stringBytes))
        // The strings follow the list, and places count from there.
        let start = 4 + Int(count) * stringBytes
        var strings: [Int64: String] = [:]
        for index in 0..<Int(min(count, Int64(2 * PointReport.mostOfKind))) {
            let place = 4 + index * stringBytes
            guard let id = chunk.number(at: place, 4), let offset = chunk.number(at: place + 4, 8),
                (0..<ChunkBytes.most).contains(offset), strings[id] == nil
            else { continue }
            strings[id] = chunk.text(at: start + Int(offset), PointReport.mostTextBytes * 4)
        }
        return strings
    }

    private static let markerBytes = 28

    private struct Marker {
        let type: String
        let frame: Int64
        let isRounded: Bool
        let id: Int64
    }

    /// `nil` if its frame is no number of frames.
    private static func marker(in chunk: ChunkBytes, at place: Int) -> Marker? {
        guard place <= chunk.count - markerBytes, let frame = chunk.double(at: place + 4), frame >= 0,
            frame <= Double(Plausible.frames), let id = chunk.number(at: place + 12, 4)
        else { return nil }
        let type = String(decoding: chunk.bytes[place..<place + 4], as: UTF8.self)
        let whole = frame.rounded()
        return Marker(type: type, frame: Int64(whole), isRounded: whole != frame, id: id)
    }

    private static func addMarkers(of chunk: ChunkBytes, _ names: [Int64: String], to stated: inout StatedPoints) {
        let count = min(chunk.number(at: 4, 4) ?? 0, Int64((chunk.count - 8) / markerBytes))
        for index in 0..<Int(min(count, Int64(PointReport.mostOfKind))) {
            guard let marker = marker(in: chunk, at: 8 + index * markerBytes) else { continue }
            if dividing.contains(marker.type) { stated.chapterFrames.insert(marker.frame) }
            let text = names[marker.id] ?? words[marker.type]
            stated.add(SourcePoint(.cue, at: marker.frame, text: text, isRounded: marker.isRounded))
        }
        stated.addUnread(count - Int64(PointReport.mostOfKind), .cue)
    }

    /// A region reaches from its first marker to its last one.
    private static func addRegions(
        of chunk: ChunkBytes,
        _ names: [Int64: String],
        roles: [Int64: String],
        to stated: inout StatedPoints
    ) {
        var place = 8
        for _ in 0..<min(chunk.number(at: 4, 4) ?? 0, ChunkBytes.most) {
            guard let id = chunk.number(at: place, 4), let flags = chunk.number(at: place + 4, 4),
                let count = chunk.number(at: place + 8, 4), count <= Int64((chunk.count - place - 12) / markerBytes)
            else { return }
            let markers = (0..<Int(count)).compactMap { marker(in: chunk, at: place + 12 + $0 * markerBytes) }
            place += 12 + Int(count) * markerBytes
            guard let first = markers.min(by: { $0.frame < $1.frame }),
                let last = markers.max(by: { $0.frame < $1.frame })
            else { continue }
            let isLoop = flags & 1 != 0 || roles[id] != nil
            let words = isLoop ? [roles[id], directions[flags & 6], names[id]] : [names[id]]
            stated.add(
                SourcePoint(
                    isLoop ? .loop : last.frame > first.frame ? .region : .cue,
                    at: first.frame,
                    frames: last.frame - first.frame,
                    text: PointText.bounded(words.compactMap { $0 }.joined(separator: ", ")),
                    isRounded: first.isRounded || last.isRounded
                )
            )
        }
    }

    /// How a loop is played, by the flags for forward and for backward.
    private static let directions: [Int64: String] = [2: "forward", 4: "backward", 6: "alternating"]

    /// The types of markers that divide the sound. Those without a type do.
    private static let dividing: Set<String> = ["\0\0\0\0", "pbeg", "tbeg", "indx"]

    /// What markers without a name stand for.
    private static let words = [
        "pbeg": "program start", "pend": "program end", "tbeg": "track start", "tend": "track end", "indx": "index",
        "rbeg": "region start", "rend": "region end", "rsyc": "sync point", "sbeg": "selection start",
        "send": "selection end", "cbeg": "edit source start", "cend": "edit source end",
        "dbeg": "edit destination start", "dend": "edit destination end", "slbg": "sustain loop start",
        "slen": "sustain loop end", "rlbg": "release loop start", "rlen": "release loop end",
    ]
}
