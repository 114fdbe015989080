import CLibAV
import Conversion
import Glibc

/// Encoded bytes with their timestamps; freed when the value is dropped.
public struct Packet: ~Copyable {
    let pointer: UnsafeMutablePointer<AVPacket>

    /// An empty packet.
    public init() throws {
        guard let packet = av_packet_alloc() else {
            throw MediaError(.outOfMemory, at: .open, "no memory for a packet")
        }
        self.init(adopting: packet)
    }

    /// Takes ownership of `pointer`; no other code may free it.
    init(adopting pointer: UnsafeMutablePointer<AVPacket>) { self.pointer = pointer }

    deinit {
        var doomed: UnsafeMutablePointer<AVPacket>? = pointer
        av_packet_free(&doomed)
    }

    public var byteCount: Int { Int(pointer.pointee.size) }

    var streamIndex: Int { Int(pointer.pointee.stream_index) }
    var isMarkedCorrupt: Bool { pointer.pointee.flags & AV_PKT_FLAG_CORRUPT != 0 }

    /// The timestamp in the stream's time base; `nil` if the container gives none or an impossible one.
    var timestamp: Int64? {
        let time = pointer.pointee.pts == SLUICE_NO_TIMESTAMP ? pointer.pointee.dts : pointer.pointee.pts
        return Plausible.ticks(time)
    }

    /// The decoding time in the stream's time base; `nil` if the container gives none or an impossible one.
    var decodingTime: Int64? {
        Plausible.ticks(pointer.pointee.dts)
    }

    /// All of libav's flags.
    var marks: Int32 { pointer.pointee.flags }

    /// Sets presentation and decoding time to `time`, in the unit of the packet's duration.
    mutating func setTime(_ time: Int64) {
        pointer.pointee.pts = time
        pointer.pointee.dts = time
    }

    /// Drops bytes at the start without moving the rest.
    mutating func dropFirst(_ count: Int) {
        pointer.pointee.data += count
        pointer.pointee.size -= Int32(count)
    }

    /// Replaces the content and keeps the times.
    mutating func setBytes(_ bytes: [UInt8]) throws {
        guard av_grow_packet(pointer, Int32(bytes.count - byteCount)) >= 0, let data = pointer.pointee.data else {
            throw LibAVError("av_grow_packet", -ENOMEM)
        }
        for (place, byte) in bytes.enumerated() { data[place] = byte }
    }

    /// Overwrites bytes in the midst.
    func replaceBytes(at place: Int, with bytes: [UInt8]) {
        guard let data = pointer.pointee.data, place >= 0, place + bytes.count <= byteCount else { return }
        for (offset, byte) in bytes.enumerated() { data[place + offset] = byte }
    }

    /// The duration in the stream's time base; zero if the container gives none or an impossible one.
    var duration: Int64 {
        get { Plausible.ticks(pointer.pointee.duration) ?? 0 }
        nonmutating set { pointer.pointee.duration = newValue }
    }

    /// Lends the bytes; they must not leave the closure.
    public borrowing func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try body(.init(start: pointer.pointee.data, count: Int(pointer.pointee.size)))
    }

    /// Empties the packet and makes room for `count` bytes, which are undefined.
    mutating func allocate(_ count: Int) throws {
        clear()
        try check(av_new_packet(pointer, Int32(count)), "av_new_packet")
    }

    /// Lends the bytes for writing; they must not leave the closure.
    mutating func withMutableBytes<Result>(
        _ body: (UnsafeMutableRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try body(.init(start: pointer.pointee.data, count: Int(pointer.pointee.size)))
    }

    /// States where the packet comes from. Decoding can begin at it.
    mutating func setOrigin(stream: Int, place: Int64, isDiscarded: Bool = false) {
        pointer.pointee.stream_index = Int32(stream)
        pointer.pointee.pos = place
        pointer.pointee.flags |= AV_PKT_FLAG_KEY | (isDiscarded ? AV_PKT_FLAG_DISCARD : 0)
    }

    mutating func clear() { av_packet_unref(pointer) }

    /// Takes the content of `other`, which is empty afterwards.
    mutating func take(_ other: inout Packet) {
        av_packet_unref(pointer)
        av_packet_move_ref(pointer, other.pointer)
    }

    /// Takes the first `count` bytes of `other`, which last `ticks`, and leaves it the others.
    mutating func takeFirst(_ count: Int, lasting ticks: Int64, of other: inout Packet) throws {
        clear()
        try check(av_packet_ref(pointer, other.pointer), "av_packet_ref")
        pointer.pointee.size = Int32(count)
        pointer.pointee.duration = ticks
        let rest = other.pointer
        av_packet_free_side_data(rest)
        other.dropFirst(count)
        if rest.pointee.pos >= 0 { rest.pointee.pos += Int64(count) }
        rest.pointee.duration = max(0, rest.pointee.duration.addingSaturated(-ticks))
        if rest.pointee.pts != SLUICE_NO_TIMESTAMP { rest.pointee.pts = rest.pointee.pts.addingSaturated(ticks) }
        if rest.pointee.dts != SLUICE_NO_TIMESTAMP { rest.pointee.dts = rest.pointee.dts.addingSaturated(ticks) }
    }

    /// The offset of the packet's bytes in the source; `nil` if the demuxer does not state it.
    var place: Int64? { pointer.pointee.pos >= 0 ? pointer.pointee.pos : nil }

    /// Whether the packet already states what decoders must drop.
    var hasSkip: Bool {
        var size = 0
        return av_packet_get_side_data(pointer, AV_PKT_DATA_SKIP_SAMPLES, &size) != nil
    }

    /// Whether the container excludes the packet from playback.
    var isMarkedDiscard: Bool { pointer.pointee.flags & AV_PKT_FLAG_DISCARD != 0 }

    /// Where `mark` begins in `bytes`, from `start` on.
    static func place(of mark: [UInt8], in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard let base = bytes.baseAddress, let first = mark.first else { return nil }
        var place = start
        while place + mark.count <= bytes.count, let found = memchr(base + place, Int32(first), bytes.count - place) {
            place = UnsafeRawPointer(found) - base
            if bytes[place...].starts(with: mark) { return place }
            place += 1
        }
        return nil
    }

    /// Whether the packet carries other headers or parameters than the stream had before.
    var changesHeaders: Bool {
        var size = 0
        return av_packet_get_side_data(pointer, AV_PKT_DATA_NEW_EXTRADATA, &size) != nil
            || av_packet_get_side_data(pointer, AV_PKT_DATA_PARAM_CHANGE, &size) != nil
    }

    /// Whether the packet is sound only: nothing to drop, and no new stream header or parameters.
    var isPlain: Bool {
        !isMarkedDiscard && !hasSkip && !changesHeaders
    }

    /// The number of frames that decoders must drop at the start and at the end of the packet.
    var skip: (start: Int, end: Int) {
        var size = 0
        guard let data = av_packet_get_side_data(pointer, AV_PKT_DATA_SKIP_SAMPLES, &size), size >= 10 else {
            return (0, 0)
        }
        func word(_ offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(data[offset + $1]) << (8 * $1) } }
        return (word(0), word(4))
    }

    /// Sets the number of frames that decoders must drop at the start and at the end of the packet.
    mutating func setSkip(start: Int, end: Int) throws {
        var size = 0
        var data = av_packet_get_side_data(pointer, AV_PKT_DATA_SKIP_SAMPLES, &size)
        if data == nil || size < 10 { data = av_packet_new_side_data(pointer, AV_PKT_DATA_SKIP_SAMPLES, 10) }
        guard let data else { throw LibAVError("av_packet_new_side_data", -ENOMEM) }
        for byte in 0..<4 {
            data[byte] = UInt8(truncatingIfNeeded: start >> (8 * byte))
            data[4 + byte] = UInt8(truncatingIfNeeded: end >> (8 * byte))
        }
        data[8] = 0
        data[9] = 0
    }
}
