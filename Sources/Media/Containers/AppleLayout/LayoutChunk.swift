import Conversion

/// Corrects the chunk in which CAF and AIFF state the layout of an output.
///
/// For some layouts, libav states the name of the same speakers in another order, so players would swap channels. The
/// chunk can state a bit for each speaker instead, as in WAVE. The packets of ALAC have another order, in which Apple's
/// decoder gives the channels.
enum LayoutChunk {
    /// The tags of ALAC's own layouts, for three channels and more.
    private static let tagsOfALAC: [UInt32] = [
        114 << 16 | 3, 116 << 16 | 4, 120 << 16 | 5, 124 << 16 | 6, 142 << 16 | 7, 127 << 16 | 8,
    ]

    static func apply(to sink: ByteSink, _ format: ResolvedFormat, _ chunks: Chunks, named name: String) throws {
        let layout = format.layout
        guard layout.channelCount > 2, !layout.isDiscrete, layout.isInWAVE else { return }
        guard let place = try chunks.first(name, in: sink) else { throw sink.malformed("no \(name) chunk") }
        if format.codec == .alac {
            guard tagsOfALAC.indices.contains(layout.channelCount - 3) else { return }
            return try state(tagsOfALAC[layout.channelCount - 3], bits: 0, at: place, in: sink)
        }
        let written = try sink.bytes(at: place, count: AppleLayout.greatestBytes)
        if isRight(AppleLayout.speakers(written, channelCount: layout.channelCount), layout) { return }
        try state(AppleLayout.usesBits, bits: UInt32(layout.mask), at: place, in: sink)
    }

    /// Whether `stated` has the speakers of `layout` in its order. 5.1 and 5.1(side) are the same speakers by two names.
    private static func isRight(_ stated: SpeakerOrder, _ layout: ChannelLayout) -> Bool {
        guard stated.channels == nil, let other = ChannelLayout(mask: stated.mask) else { return false }
        return ChannelMix(from: other, to: layout)?.isIdentity == true
    }

    private static func state(_ tag: UInt32, bits: UInt32, at place: Int64, in sink: ByteSink) throws {
        try sink.patch(
            bigEndianBytes(Int64(tag), count: 4) + bigEndianBytes(Int64(bits), count: 4) + [0, 0, 0, 0],
            at: place
        )
    }
}

extension Chunks {
    /// Where the content of the first chunk with this name begins in a finished output; `nil` if there is none.
    func first(_ name: String, in sink: ByteSink) throws -> Int64? {
        var place = start
        while place + 4 + Int64(sizeBytes) <= sink.size {
            let head = try sink.bytes(at: place, count: 4 + sizeBytes)
            let size = sizesAreBig ? bigEndian(head[4...]) : littleEndian(head[4...])
            let body = place + 4 + Int64(sizeBytes)
            if head.starts(with: Array(name.utf8)) { return body }
            guard size >= 0, size <= sink.size - body else { return nil }
            place = body + size + (arePadded ? size & 1 : 0)
        }
        return nil
    }
}
