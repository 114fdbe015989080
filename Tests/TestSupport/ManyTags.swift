/// Files with far more tags than are realistic, built by hand around the sound of an ordinary file.
public enum ManyTags: String, CaseIterable, Sendable {
    case matroskaOneTag, matroskaManyTags, matroskaManyLists, matroskaNested, matroskaChapters
    case flacNames, flacOneName, flacBlocks, flacPadding, oggNames, oggOneName
    case id3Frames, id3Private, id3Tags, waveID3, waveInfo, apeItems, mp4Items, cafStrings

    /// Whether the file has real tags, so that some are lost.
    public var losesTags: Bool { self != .flacPadding }

    /// The ordinary file `file` with `count` tags more. It has the format that the name of the case begins with.
    public func bytes(_ count: Int, around file: [UInt8]) throws -> [UInt8] {
        let names = (0..<count).map { name($0) }
        switch self {
        case .matroskaOneTag: return try matroska(file, list(tag(names.flatMap { simple($0) })))
        case .matroskaManyTags: return try matroska(file, list(names.flatMap { tag(simple($0)) }))
        case .matroskaManyLists: return try matroska(file, names.flatMap { list(tag(simple($0))) })
        case .matroskaNested:
            let groups = stride(from: 0, to: count, by: 100).flatMap { first in
                simple(names[first], names[(first + 1)..<min(first + 100, count)].flatMap { simple($0) })
            }
            return try matroska(file, list(tag(groups)))
        case .matroskaChapters:
            // Descending numbers, so that libav compares each with all the others.
            let atoms = (0..<count).flatMap { number in
                element([0xB6], element([0x73, 0xC4], big(count - number, 4)) + element([0x91], big(number * 1000, 5)))
            }
            return try matroska(file, element([0x10, 0x43, 0xA7, 0x70], element([0x45, 0xB9], atoms)))
        case .flacNames: return try flac(file, [(4, comments(names.map { $0 + equals }))])
        case .flacOneName: return try flac(file, [(4, comments(names.map { _ in Array("KEY=v".utf8) }))])
        case .flacBlocks: return try flac(file, names.map { (4, comments([$0 + equals])) })
        case .flacPadding: return try flac(file, names.map { _ in (1, []) })
        case .oggNames: return try ogg(file, comments(names.map { $0 + equals }))
        case .oggOneName: return try ogg(file, comments(names.map { _ in Array("KEY=v".utf8) }))
        case .id3Frames: return id3(names.flatMap { frame("TXXX", [3] + $0 + [0] + Array("v".utf8)) }) + file
        case .id3Private: return id3(names.flatMap { frame("PRIV", $0 + [0, 1]) }) + file
        case .id3Tags: return names.flatMap { id3(frame("TXXX", [3] + $0 + [0] + Array("v".utf8))) } + file
        case .waveID3:
            var content = id3(names.flatMap { frame("TXXX", [3] + $0 + [0] + Array("v".utf8)) })
            if content.count % 2 == 1 { content.append(0) }
            return wave(file, Array("id3 ".utf8) + little(content.count) + content)
        case .waveInfo:
            let items = (0..<count).flatMap { info($0) + little(2) + Array("v\u{0}".utf8) }
            return wave(file, Array("LIST".utf8) + little(items.count + 4) + Array("INFO".utf8) + items)
        case .apeItems:
            // libav accepts at most 65,536 items.
            let (head, end) = (little(1) + little(0), [0] + Array("v".utf8))
            let items: [UInt8] = names.prefix(65_000).flatMap { name -> [UInt8] in head + name + end }
            let numbers = [2000, items.count + 32, min(count, 65_000), 0, 0, 0]
            return file + items + Array("APETAGEX".utf8) + numbers.flatMap { little($0) }
        case .mp4Items: return try mp4(file, names.flatMap { item($0) })
        case .cafStrings:
            let content = big(count, 4) + names.flatMap { $0 + [0] + Array("v\u{0}".utf8) }
            return Array(file[..<52]) + Array("info".utf8) + big(content.count, 8) + content + file[52...]
        }
    }

    private func name(_ number: Int) -> [UInt8] {
        let digits = "\(number)"
        return Array(("K" + String(repeating: "0", count: max(0, 6 - digits.count)) + digits).utf8)
    }

    private var equals: [UInt8] { Array("=v".utf8) }

    private func big(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - $0))) }
    }

    private func little(_ number: Int) -> [UInt8] { big(number, 4).reversed() }

    // MARK: Matroska

    private func element(_ id: [UInt8], _ body: [UInt8]) -> [UInt8] { id + [0x01] + big(body.count, 7) + body }
    private func simple(_ name: [UInt8], _ inner: [UInt8] = []) -> [UInt8] {
        element([0x67, 0xC8], element([0x45, 0xA3], name) + element([0x44, 0x87], Array("v".utf8)) + inner)
    }
    private func tag(_ body: [UInt8]) -> [UInt8] { element([0x73, 0x73], body) }
    private func list(_ body: [UInt8]) -> [UInt8] { element([0x12, 0x54, 0xC3, 0x67], body) }

    /// Inserts `added` before the first cluster, into a segment of unknown size.
    private func matroska(_ file: [UInt8], _ added: [UInt8]) throws -> [UInt8] {
        guard let segment = Bytes.find([0x18, 0x53, 0x80, 0x67], in: file),
            let seek = Bytes.find([0x11, 0x4D, 0x9B, 0x74], in: file),
            let cluster = Bytes.find([0x1F, 0x43, 0xB6, 0x75], in: file)
        else { throw SupportError("add tags", "this is not Matroska as ffmpeg writes it") }
        var bytes = file
        // The seek head is no longer correct, so this gives it an unknown id, which readers skip.
        bytes.replaceSubrange(seek..<(seek + 4), with: [0x1A, 0xBC, 0xDE, 0xF1])
        bytes.replaceSubrange((segment + 4)..<(segment + 12), with: [0x01] + [UInt8](repeating: 0xFF, count: 7))
        return Array(bytes[..<cluster]) + added + bytes[cluster...]
    }

    // MARK: Vorbis comments

    private func comments(_ all: [[UInt8]]) -> [UInt8] {
        little(3) + Array("abc".utf8) + little(all.count) + all.flatMap { little($0.count) + $0 }
    }

    /// Inserts `blocks` after the first block.
    private func flac(_ file: [UInt8], _ blocks: [(kind: UInt8, bytes: [UInt8])]) throws -> [UInt8] {
        var sound = 4
        while file[sound] & 0x80 == 0 {
            sound += 4 + Int(file[sound + 1]) << 16 + Int(file[sound + 2]) << 8 + Int(file[sound + 3])
        }
        sound += 4 + (Int(file[sound + 1]) << 16 | Int(file[sound + 2]) << 8 | Int(file[sound + 3]))
        var bytes = Array("fLaC".utf8) + [0] + file[5..<42]
        for (number, block) in blocks.enumerated() {
            bytes += [block.kind | (number == blocks.count - 1 ? 0x80 : 0)] + big(block.bytes.count, 3) + block.bytes
        }
        return bytes + file[sound...]
    }

    private func ogg(_ file: [UInt8], _ comments: [UInt8]) throws -> [UInt8] {
        var pages = try OggFile(file)
        guard let head = pages.headers.first else { throw SupportError("add tags", "there is no first page") }
        let packet = Array("OpusTags".utf8) + comments
        var (place, added) = (0, [[UInt8]]())
        while place <= packet.count {
            let part = packet[place..<min(place + 255 * 255, packet.count)]
            let isLast = place + 255 * 255 > packet.count
            let lacing = [UInt8](repeating: 255, count: part.count / 255) + (isLast ? [UInt8(part.count % 255)] : [])
            // A page on which no packet ends has the position -1.
            let position = [UInt8](repeating: isLast ? 0 : 0xFF, count: 8)
            added.append(
                head[..<5] + [place == 0 ? 0 : 1] + position + head[14..<18] + [UInt8](repeating: 0, count: 8)
                    + [UInt8(lacing.count)] + lacing + part
            )
            place += 255 * 255
        }
        pages.headers = [head] + added
        return pages.renumbered
    }

    // MARK: ID3, chunks and boxes

    private func synchsafe(_ number: Int) -> [UInt8] { [21, 14, 7, 0].map { UInt8(number >> $0 & 0x7F) } }
    private func frame(_ name: String, _ body: [UInt8]) -> [UInt8] {
        Array(name.utf8) + synchsafe(body.count) + [0, 0] + body
    }
    private func id3(_ frames: [UInt8]) -> [UInt8] { Array("ID3".utf8) + [4, 0, 0] + synchsafe(frames.count) + frames }

    private func wave(_ file: [UInt8], _ chunk: [UInt8]) -> [UInt8] {
        Array(file[..<4]) + little(file.count - 8 + chunk.count) + file[8..<12] + chunk + file[12...]
    }

    /// A unique chunk name of four letters and digits.
    private func info(_ number: Int) -> [UInt8] {
        let letters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8)
        return [
            letters[number / 46_656 % 36], letters[number / 1296 % 36], letters[number / 36 % 36], letters[number % 36],
        ]
    }

    private func box(_ name: String, _ body: [UInt8]) -> [UInt8] { big(body.count + 8, 4) + Array(name.utf8) + body }

    private func item(_ name: [UInt8]) -> [UInt8] {
        box(
            "----",
            box("mean", big(0, 4) + Array("com.apple.iTunes".utf8)) + box("name", big(0, 4) + name)
                + box("data", big(1, 4) + big(0, 4) + Array("v".utf8))
        )
    }

    private func mp4(_ file: [UInt8], _ items: [UInt8]) throws -> [UInt8] {
        guard let name = Bytes.find("moov", in: file) else { throw SupportError("add tags", "there is no moov") }
        let handler = box("hdlr", big(0, 8) + Array("mdirappl".utf8) + [UInt8](repeating: 0, count: 9))
        let added = box("udta", box("meta", big(0, 4) + handler + box("ilst", items)))
        var bytes = file
        let size = file.count - (name - 4) + added.count
        bytes.replaceSubrange((name - 4)..<name, with: big(size, 4))
        return bytes + added
    }
}
