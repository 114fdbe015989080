/// A position in a track's sample tables: the current sample with its time and the place of its bytes.
struct SampleCursor {
    private let tables: SampleTables
    /// The sample's number, from zero.
    private(set) var number: Int64 = 0
    /// When the sample begins, in ticks since the first sample.
    private(set) var time: Int64 = 0
    /// The sample's duration in ticks.
    private(set) var duration: Int64 = 0
    /// Byte position of the sample in the source.
    private(set) var place: Int64 = 0
    private(set) var size: Int64 = 0

    private var sizes: TableWindow
    private var runs: TableWindow
    private var chunkRuns: TableWindow
    private var offsets: TableWindow
    private var run: Int64 = 0
    /// Samples left in the run, this one included.
    private var leftInRun: Int64 = 0
    private var chunkRun: Int64 = 0
    private var chunk: Int64 = 0
    /// Samples left in the chunk, this one included.
    private var leftInChunk: Int64 = 0

    /// Starts at the sample with this number.
    init(_ tables: SampleTables, at number: Int64) throws {
        self.tables = tables
        sizes = TableWindow(tables.sizes, of: tables.source)
        runs = TableWindow(tables.runs, of: tables.source)
        chunkRuns = TableWindow(tables.chunkRuns, of: tables.source)
        offsets = TableWindow(tables.offsets, of: tables.source)
        try move(to: number)
    }

    /// Moves to the next sample. After the last one, only `number` is valid.
    mutating func advance() throws {
        place += size
        time += duration
        number += 1
        guard number < tables.sampleCount else { return }
        leftInRun -= 1
        if leftInRun == 0 {
            run += 1
            (leftInRun, duration) = try tables.run(run, &runs)
        }
        leftInChunk -= 1
        if leftInChunk == 0 {
            chunk += 1
            var chunks = try chunksInRun()
            if chunk == chunks.upperBound {
                chunkRun += 1
                chunks = try chunksInRun()
            }
            leftInChunk = try samplesInEach()
            place = try offsets.number(chunk)
        }
        size = try sizes.number(number)
    }

    mutating func move(to number: Int64) throws {
        try findTime(of: number)
        try findChunk(of: number)
        self.number = number
        size = try sizes.number(number)
    }

    private mutating func findTime(of number: Int64) throws {
        var before: Int64 = 0
        (run, time) = (0, 0)
        while true {
            let (count, length) = try tables.run(run, &runs)
            if number < before + count {
                (leftInRun, duration) = (before + count - number, length)
                time += (number - before) * length
                return
            }
            before += count
            time += count * length
            run += 1
        }
    }

    private mutating func findChunk(of number: Int64) throws {
        var before: Int64 = 0
        chunkRun = 0
        while true {
            let (chunks, inEach) = (try chunksInRun(), try samplesInEach())
            let count = Int64(chunks.count) * inEach
            if number < before + count {
                let (whole, inside) = (number - before).quotientAndRemainder(dividingBy: inEach)
                chunk = chunks.lowerBound + whole
                leftInChunk = inEach - inside
                place = try offsets.number(chunk)
                for earlier in (number - inside)..<number { place += try sizes.number(earlier) }
                return
            }
            before += count
            chunkRun += 1
        }
    }

    // MARK: Chunks

    /// The chunks, from zero, that the current run of chunks covers. The tables were checked when the file was
    /// opened; a file that changes while it is read gives an error.
    private mutating func chunksInRun() throws -> Range<Int64> {
        let first = try chunkRuns.number(3 * chunkRun) - 1
        let isLast = chunkRun + 1 == tables.chunkRunCount
        let next = isLast ? tables.offsets.count : try chunkRuns.number(3 * chunkRun + 3) - 1
        guard first >= 0, next > first, next <= tables.offsets.count else { throw LibAVError.invalid("sample tables") }
        return first..<next
    }

    private mutating func samplesInEach() throws -> Int64 {
        let count = try chunkRuns.number(3 * chunkRun + 1)
        guard count > 0, count <= tables.sampleCount else { throw LibAVError.invalid("sample tables") }
        return count
    }
}
