/// A table of big-endian numbers in a source. None of it is held in memory.
struct SampleTable {
    let place: Int64
    /// Count of numbers, not of rows: in a table with several columns, each number counts.
    let count: Int64
    /// Bytes per number: four or eight.
    let width: Int

    /// The numbers after the first `headBytes` of a box's content; `nil` if they do not fit in it.
    init?(in content: Range<Int64>, behind headBytes: Int64, count: Int64, width: Int) {
        let capacity = content.upperBound - content.lowerBound - headBytes
        guard count > 0, capacity > 0, count <= capacity / Int64(width) else { return nil }
        place = content.lowerBound + headBytes
        self.count = count
        self.width = width
    }
}
