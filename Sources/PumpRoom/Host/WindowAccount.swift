/// What a room has asked of the sources of one job that are fetched for it.
struct WindowAccount {
    /// The sizes of the sources, by their places in the job.
    private let sizes: [Int: Int64]
    /// The most that an honest room asks for.
    private let mostBytes: Int64
    private let mostQuestions: Int64
    private var bytes: Int64 = 0
    private var questions: Int64 = 0
    /// The number of the question that has no answer yet.
    private var open: Int64?

    /// How often a pass may read all sources. Some containers are read twice while they are opened, and their demuxers step
    /// back.
    private static let readsPerPass: Int64 = 16
    private static let freeBytes: Int64 = 64 << 20
    private static let freeQuestions: Int64 = 4_096
    /// A room asks for more at once, except near the end of a source.
    private static let bytesPerQuestion: Int64 = 32 << 10

    /// `passes` is how often the work reads its sources.
    init(sizes: [Int: Int64] = [:], passes: Int = 1) {
        self.sizes = sizes
        // A store may tell any size.
        let all = sizes.values.reduce(Int64(0)) { min(FigureBound.bytes, $0) + min(FigureBound.bytes, max(0, $1)) }
        let (product, isTooMuch) = all.multipliedReportingOverflow(by: Self.readsPerPass * Int64(max(1, passes)))
        mostBytes = (isTooMuch ? FigureBound.bytes : min(product, FigureBound.bytes)) + Self.freeBytes
        mostQuestions = Self.freeQuestions + mostBytes / Self.bytesPerQuestion
    }

    /// Whether the room waits for an answer.
    var isOpen: Bool { open != nil }

    /// Takes a question. Returns what is wrong with it if no honest room asks it.
    mutating func take(_ question: WindowQuestion) -> String? {
        guard question.isCredible, let size = sizes[question.source], question.offset < size,
            Int64(question.count) <= size - question.offset
        else { return "a question for bytes that no source has" }
        guard open == nil else { return "a question before the answer to the last one" }
        // A store sends about as much for fewer bytes.
        bytes += min(Int64(WindowFacts.memoryBytes), size - question.offset)
        questions += 1
        guard bytes <= mostBytes, questions <= mostQuestions else { return "it reads far more than its sources hold" }
        open = question.number
        return nil
    }

    /// Ends the question `number`. Returns false if it is not open.
    mutating func end(_ number: Int64) -> Bool {
        guard open == number else { return false }
        open = nil
        return true
    }
}
