/// Walks a stream of bare frames from one to the next and reports the bytes between them.
///
/// libav's parsers attach any bytes before a frame to that frame, and libav's decoders skip them silently. A hole
/// in a file would go unnoticed.
final class FrameWalk {
    enum Step {
        /// A complete frame, followed by another frame, a tag or the end.
        case frame(place: Int64, FrameHeader)
        /// Bytes that are neither frame nor tag. `beginsFrame` if they start with an incomplete frame.
        case junk(place: Int64, bytes: Int64, beginsFrame: Bool)
        /// A frame cut off by the end of the source, or by a tag that was appended after such an end.
        case cutFrame(place: Int64, FrameHeader)
        case ended
    }

    let syntax: FrameSyntax
    private let source: ByteSource
    /// The limit for the end of the last frame. Tags at the end of the file lie behind it. The greatest number until the
    /// end of a pipe was met.
    private(set) var end: Int64
    private var place: Int64 = 0
    private var kind: UInt32?
    private var window: [UInt8]
    private var windowStart: Int64 = 0
    private var windowCount = 0

    /// Where the walk is. The window fills itself again.
    struct State {
        var place: Int64
        var kind: UInt32?
    }

    var state: State {
        get { State(place: place, kind: kind) }
        set { (place, kind) = (newValue.place, newValue.kind) }
    }

    /// A pipe may be slow, and the window waits until it is full.
    private static func windowBytes(_ source: ByteSource) -> Int { source.isSeekable ? 64 * 1024 : 16 * 1024 }
    /// The most bytes that may precede the first frame; libav searches no further either.
    private static let greatestLead: Int64 = 64 * 1024

    /// `nil` if the source holds no frame. libav must have read nothing of a pipe, or all of that be kept.
    init?(_ source: ByteSource, _ syntax: FrameSyntax) {
        self.source = source
        self.syntax = syntax
        end = source.size.map { TagBlocks.soundEnd(of: source, size: $0) } ?? .max
        window = [UInt8](repeating: 0, count: Self.windowBytes(source))
        skipTags()
        // Bytes before the first frame were never part of the stream: a recording may begin anywhere.
        guard let first = nextStart(from: place, upTo: place + Self.greatestLead) else { return nil }
        place = first
    }

    /// A separate walk from the place of `other`, for looking ahead.
    init(ahead other: FrameWalk) {
        (source, syntax, end, place, kind) = (other.source, other.syntax, other.end, other.place, other.kind)
        window = [UInt8](repeating: 0, count: Self.windowBytes(source))
    }

    /// Gives up what was read of a pipe, apart from what is near the place of the walk.
    func forgetPassed() { source.forget(before: place - Int64(PipeBuffer.headLimit)) }

    /// Whether a walk ahead of this one can read all of the source.
    var canReturn: Bool { source.isSeekable }

    private var knowsEnd: Bool { end < .max }

    /// The bytes of the source; `nil` until the end of a pipe was met.
    var sourceBytes: Int64? { source.endSize }

    func next() -> Step {
        skipTags()
        learnEnd(at: place)
        guard place < end else { return .ended }
        guard let header = header(at: place), kind == nil || header.kind == kind || isChain(at: place, 3) else {
            let next = nextStart(from: place + 1) ?? end
            // A pipe that was stopped has no end.
            return next < .max ? junk(upTo: next, beginsFrame: false) : .ended
        }
        let following = place + Int64(header.bytes)
        learnEnd(at: following)
        if following > end {
            if let other = nextStart(from: place + 1) { return junk(upTo: other, beginsFrame: true) }
            defer { place = end }
            return .cutFrame(place: place, header)
        }
        if !isBoundary(following, after: header) {
            if let tag = tagInside(place + 4..<following) {
                defer { place = tag }
                return .cutFrame(place: place, header)
            }
            if let other = nextStart(from: place + 1), other < following {
                return junk(upTo: other, beginsFrame: true)
            }
        }
        kind = header.kind
        defer { place = following }
        return .frame(place: place, header)
    }

    /// Copies bytes of the source, from the window if that holds them all.
    func copy(_ place: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let offset = place - windowStart
        guard offset >= 0, offset + Int64(buffer.count) <= Int64(windowCount) else {
            return source.read(into: buffer, at: place)
        }
        window.withUnsafeBytes {
            buffer.copyMemory(from: .init(rebasing: $0[Int(offset)..<(Int(offset) + buffer.count)]))
        }
        return buffer.count
    }

    private func junk(upTo other: Int64, beginsFrame: Bool) -> Step {
        defer { place = other }
        return .junk(place: place, bytes: other - place, beginsFrame: beginsFrame)
    }

    private func skipTags() {
        // A file with a thousand tags in a row is hostile.
        for _ in 0..<1000 {
            guard place < end, mayBeTag(at: place),
                let length = TagBlocks.length(in: source, at: place, before: end), length > 0
            else { return }
            place += length
        }
    }

    /// The start of a tag inside an incomplete frame, if a frame or the end follows the tag.
    private func tagInside(_ bytes: Range<Int64>) -> Int64? {
        var candidate = bytes.lowerBound
        while candidate < bytes.upperBound {
            if mayBeTag(at: candidate), let length = TagBlocks.length(in: source, at: candidate, before: end) {
                let behind = candidate + length
                learnEnd(at: behind)
                // The end of a pipe that was met only now excludes the tag.
                if behind == end || candidate >= end || isChain(at: behind, 2) { return candidate }
            }
            candidate += 1
        }
        return nil
    }

    /// Whether the walk has reached the end of the sound.
    var isAtEnd: Bool { place >= end }

    private func mayBeTag(at place: Int64) -> Bool {
        switch byte(at: place) {
        case UInt8(ascii: "I"), UInt8(ascii: "T"), UInt8(ascii: "A"), UInt8(ascii: "L"): true
        default: false
        }
    }

    // MARK: Looking for frames

    /// The first place from `start` on where a frame certainly begins.
    private func nextStart(from start: Int64, upTo limit: Int64 = .max) -> Int64? {
        var candidate = start
        let first = syntax.firstByte
        // Filling the window may show the end of a pipe.
        while candidate < min(end, limit), !source.stop.isStopped {
            guard fill(candidate) else { return nil }
            let end = min(end, limit)
            var offset = Int(candidate - windowStart)
            let last = min(windowCount, Int(min(end - windowStart, Int64(Int32.max))))
            window.withUnsafeBufferPointer { while offset < last, $0[offset] != first { offset += 1 } }
            candidate = windowStart + Int64(offset)
            guard offset < last else { continue }
            if let header = header(at: candidate), header.frames > 0 {
                // A frame of a different kind needs one more confirming frame than one that continues the stream.
                if isChain(at: candidate, header.kind == kind || kind == nil ? 2 : 3) { return candidate }
            }
            candidate += 1
        }
        return nil
    }

    /// Whether `count` consecutive frames of one kind begin at `start`, or fewer if the end or a tag comes first.
    private func isChain(at start: Int64, _ count: Int) -> Bool {
        var place = start
        var kind: UInt32?
        for number in 0..<count {
            learnEnd(at: place)
            if place == end, kind != nil { return true }
            guard let header = header(at: place), kind == nil || header.kind == kind else {
                return kind != nil && mayBeTag(at: place)
                    && TagBlocks.length(in: source, at: place, before: end) != nil
            }
            kind = header.kind
            place += Int64(header.bytes)
            learnEnd(at: place)
            // A frame that the end cuts off confirms only the frames before it.
            if place > end { return number > 0 && kind == self.kind }
        }
        return true
    }

    private func isBoundary(_ place: Int64, after header: FrameHeader) -> Bool {
        learnEnd(at: place)
        if place == end { return true }
        if let other = self.header(at: place), other.kind == header.kind { return true }
        if mayBeTag(at: place), TagBlocks.length(in: source, at: place, before: end) != nil { return true }
        return isChain(at: place, 3)
    }

    private func header(at place: Int64) -> FrameHeader? {
        guard place < end, fill(place) else { return nil }
        let offset = Int(place - windowStart)
        guard offset + 8 <= windowCount || windowStart + Int64(windowCount) >= end else { return nil }
        var head: UInt64 = 0
        window.withUnsafeBufferPointer { bytes in
            for index in offset..<(offset + 8) {
                head = head << 8 | (index < windowCount ? UInt64(bytes[index]) : 0)
            }
        }
        return syntax.header(head)
    }

    private func byte(at place: Int64) -> UInt8? {
        guard fill(place) else { return nil }
        return window[Int(place - windowStart)]
    }

    /// Fills the window with `place` and the bytes after it, as far as the source has them.
    private func fill(_ place: Int64) -> Bool {
        let isInside = place >= windowStart && place < windowStart + Int64(windowCount)
        if isInside, place + 8 <= windowStart + Int64(windowCount) || windowStart + Int64(windowCount) >= end {
            return true
        }
        windowStart = place
        windowCount = window.withUnsafeMutableBytes { source.read(into: $0, at: place) }
        if windowCount < window.count, !knowsEnd {
            // Without a size, reading has failed or was stopped.
            end = source.endSize.map { TagBlocks.soundEnd(of: source, size: $0) } ?? place + Int64(windowCount)
        }
        return windowCount > 0
    }

    /// Meets the end of a pipe, if it lies at or before `place`.
    private func learnEnd(at place: Int64) { if !knowsEnd { _ = fill(place) } }
}
