/// A table of numbers in a source, most significant byte first. Nothing of it is in memory.
struct SampleTable {
    let place: Int64
    /// Numbers, not entries: of tables with several columns, all of them.
    let count: Int64
    /// Bytes of a number: four or eight.
    let width: Int

    /// The numbers behind the first `headBytes` of a box's content; `nil` where they do not fit in.
    init?(in content: Range<Int64>, behind headBytes: Int64, count: Int64, width: Int) {
        let room = content.upperBound - content.lowerBound - headBytes
        guard count > 0, room > 0, count <= room / Int64(width) else { return nil }
        place = content.lowerBound + headBytes
        self.count = count
        self.width = width
    }
}
