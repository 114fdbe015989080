import CLibAV

/// An entry of libav's index of the packets of a stream.
struct IndexEntry {
    let place: Int64
    let byteCount: Int
    let timestamp: Int64
    /// Whether decoding can begin at the packet.
    let isKey: Bool
    /// Whether the packet is not to be played.
    let isDiscarded: Bool

    fileprivate init(_ entry: AVIndexEntry) {
        (place, byteCount, timestamp) = (entry.pos, Int(entry.size), entry.timestamp)
        isKey = entry.flags & AVINDEX_KEYFRAME != 0
        isDiscarded = entry.flags & AVINDEX_DISCARD_FRAME != 0
    }
}

extension InputStream {
    /// The number of entries in libav's index, each of which costs memory.
    var indexEntries: Int { Int(avformat_index_get_entries_count(pointer)) }

    /// An entry of libav's index; `nil` if there is none with this number.
    func indexEntry(_ number: Int) -> IndexEntry? {
        avformat_index_get_entry(pointer, Int32(number)).map { IndexEntry($0.pointee) }
    }

    /// The last entry of libav's index; `nil` if it is empty, because libav has no entry -1.
    var lastIndexEntry: IndexEntry? { indexEntry(indexEntries - 1) }

    /// The number of the last entry that begins at or before `time`; negative if there is none.
    func lastIndexEntry(upTo time: Int64) -> Int {
        Int(av_index_search_timestamp(pointer, time, AVSEEK_FLAG_BACKWARD))
    }

    /// The time of the last packet in libav's index that begins at or before `last`.
    ///
    /// `nil` unless a packet begins exactly at `first`, the times from there on rise, no packet after it is marked
    /// for discarding, and, if `step` is given, every packet lasts that long.
    func indexedTime(from first: Int64, upTo last: Int64, inStepsOf step: Int64?) -> Int64? {
        let (from, to) = (lastIndexEntry(upTo: first), lastIndexEntry(upTo: last))
        guard from >= 0, to > from, var entry = indexEntry(from), entry.timestamp == first else { return nil }
        for number in (from + 1)...to {
            guard let next = indexEntry(number), next.timestamp > entry.timestamp, !next.isDiscarded,
                step == nil || next.timestamp - entry.timestamp == step
            else { return nil }
            entry = next
        }
        return entry.timestamp
    }

    // MARK: What else an index is held against

    /// Ticks of the time base in a second; `nil` if they are no whole number.
    var ticksPerSecond: Int64? { pointer.pointee.time_base.num == 1 ? Int64(pointer.pointee.time_base.den) : nil }

    /// The time at which the stream starts.
    var startTime: Int64? { Plausible.ticks(pointer.pointee.start_time) }

    /// The bit rate as libav states it.
    var statedBitRate: Int64 {
        get { pointer.pointee.codecpar.pointee.bit_rate }
        nonmutating set { pointer.pointee.codecpar.pointee.bit_rate = newValue }
    }
}
