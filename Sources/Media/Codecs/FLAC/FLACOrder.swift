/// Whether the frames of a FLAC file can be found by their number.
///
/// Where files were joined, the numbers begin anew, and a search may end in the wrong file. Samples of the whole file
/// show that: the numbers rise from the first to the last frame, and that one ends where the header says.
enum FLACOrder {
    /// Holds a frame of the usual sizes. If it holds none, nothing is proven.
    private static let windowBytes = 1 << 16
    private static let evenSamples: Int64 = 32

    /// `first` is the place of the first frame. `frames` is what the header promises, behind the frame `start`.
    static func isProven(_ source: ByteSource, from first: Int64, start: Int64, frames: Int64, rate: Int, block: Int)
        -> Bool
    {
        guard let size = source.size, size > first else { return false }
        let sound = size - first
        var places = Set((0..<evenSamples).map { first + sound / evenSamples * $0 })
        // A short file may lie before or behind a long one.
        var part = sound / evenSamples
        while part > Int64(windowBytes) {
            part /= 4
            places.formUnion([first + part, size - part])
        }
        var last: Int64 = -1
        for place in places.sorted() where place < size - Int64(windowBytes) {
            guard let header = headers(source, place, rate).first(where: { $0.frames == block }), header.number >= last
            else { return false }
            last = header.number
        }
        return headers(source, max(first, size - Int64(windowBytes)), rate).contains { header in
            guard let begin = header.start(blockFrames: block) else { return false }
            return header.number >= last && begin + Int64(header.frames) == start + frames
        }
    }

    /// The headers in the window at `place`. A lone header of random bytes passes its checksum once in millions.
    private static func headers(_ source: ByteSource, _ place: Int64, _ rate: Int) -> [FLACFrameHeader] {
        guard let bytes = source.bytes(at: place, count: windowBytes) else { return [] }
        return bytes.withUnsafeBytes { window in
            (0..<max(0, window.count - 1)).compactMap { offset in
                guard window[offset] == 0xFF, window[offset + 1] & 0xFE == 0xF8,
                    let header = FLACFrameHeader(UnsafeRawBufferPointer(rebasing: window[offset...])), header.isIntact
                else { return nil }
                return header.rate ?? rate == rate ? header : nil
            }
        }
    }
}
