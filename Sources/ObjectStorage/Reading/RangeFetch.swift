import WebClient

/// One range of an object, fetched by as many requests as it takes.
struct RangeFetch {
    let server: any RangeServer
    let key: String
    /// Of the object that was opened; `nil` for the requests that open it.
    let known: SourceFacts?
    private(set) var range: Range<Int64>
    /// The most bytes that are taken of an object that the server sends whole; `nil` if it must send ranges.
    var wholeLimit: Int64?
    /// No request begins later than this after the first one; `nil` for the usual limit.
    var timeLimit: Duration?
    let stop: WebStop
    private(set) var bytes: [UInt8] = []
    /// What the first answer says.
    private(set) var facts: SourceFacts?
    /// Whether the server has sent all of the object instead of the range.
    private(set) var isWhole = false
    /// The most attempts without a byte in between.
    private static let mostAttempts = 6
    /// The usual time limit of every range, in seconds, to which the bytes of the range are added.
    private static let leastTime: Int64 = 180
    /// The slowest line that is waited for, in bytes a second.
    private static let slowest: Int64 = 16 << 10

    init(server: any RangeServer, key: String, known: SourceFacts?, range: Range<Int64>, stop: WebStop) {
        (self.server, self.key, self.known, self.range, self.stop) = (server, key, known, range, stop)
    }

    mutating func run() throws(StoreError) {
        var (attempts, wrongAnswers) = (0, 0)
        let usual: Duration = .seconds(Self.leastTime + Int64(range.count) / Self.slowest)
        let limit = timeLimit ?? usual
        let end = ContinuousClock.now + limit
        var isFirst = true
        while Int64(bytes.count) < Int64(range.count) {
            guard isFirst || ContinuousClock.now < end else {
                throw server.unexpected(key, "it has not ended after \(Int(limit / .seconds(1))) seconds")
            }
            isFirst = false
            let before = bytes.count
            var hasMore = false
            do throws(StoreError) {
                try ask()
                if isWhole { return }
                hasMore = bytes.count > before
            } catch  where error.kind == .unavailable && bytes.count > before {
                // The connection broke in the middle: the rest is asked for, where ranges are sent.
                hasMore = !isWhole
                if isWhole { (bytes, facts) = ([], nil) }
            } catch  where error.kind == .unexpectedAnswer && wrongAnswers < server.repetitionsOfWrongAnswers {
                wrongAnswers += 1
                // Some of its bytes may have been taken.
                bytes.removeSubrange(before...)
            }
            attempts = hasMore ? 0 : attempts + 1
            guard attempts < Self.mostAttempts else { throw server.unexpected(key, "it ends before its end") }
        }
    }

    /// Why an answer of success is not taken.
    private struct Refusal {
        var kind = StoreError.Kind.unexpectedAnswer
        var text: String
    }

    private mutating func ask() throws(StoreError) {
        let first = range.lowerBound + Int64(bytes.count)
        let expected = known ?? facts
        var part = RangeRequest(range: first..<range.upperBound, condition: expected?.condition, most: 0)
        part.most = max(self.wholeLimit ?? 0, Int64(part.range.count))
        let (server, start, asked) = (server, range.lowerBound, range)
        let wholeLimit = expected == nil ? self.wholeLimit : nil
        var found: SourceFacts?
        var whole: WebAnswer?
        var refusal: Refusal?
        var (bytes, end, limit) = (self.bytes, range.upperBound, Int64(range.count))
        isWhole = false
        defer { self.bytes = bytes }
        do throws(StoreError) {
            try server.get(key, part, stop: stop) { answer in
                // An earlier answer to the same call may have broken off before its first byte.
                (found, whole, refusal) = (nil, nil, nil)
                (end, limit) = (asked.upperBound, Int64(asked.count))
                if expected == nil, answer.status == 200 {
                    if answer.bodyLength == 0, let facts = server.facts(answer, byteCount: 0) {
                        // Some servers send no range of an empty object, but all of it.
                        (found, end, limit) = (facts, start, 0)
                        return true
                    }
                    if let wholeLimit {
                        whole = answer
                        limit = wholeLimit
                        refusal = Self.refusal(ofWhole: answer, limit: wholeLimit)
                        // Growing piece by piece, it would take twice its length for a moment.
                        if refusal == nil, let length = answer.bodyLength { bytes.reserveCapacity(Int(length)) }
                        return refusal == nil
                    }
                }
                guard answer.status == 206 else {
                    refusal = Refusal(text: "the \(server.noun) does not send ranges")
                    return false
                }
                guard let range = answer.header("content-range").flatMap({ ContentRange($0) }),
                    let sent = range.bytes
                else {
                    refusal = Refusal(text: "it does not say which range it is, or how long the source is")
                    return false
                }
                guard let facts = server.facts(answer, byteCount: range.byteCount) else {
                    refusal = Refusal(text: "it has no ETag")
                    return false
                }
                guard sent.lowerBound == first, sent.upperBound <= asked.upperBound else {
                    refusal = Refusal(text: "it is of another range than asked for")
                    return false
                }
                guard expected?.isSame(as: facts) != false else {
                    refusal = Refusal(kind: .changed, text: "")
                    return false
                }
                if expected == nil { end = min(end, facts.byteCount) }
                limit = sent.upperBound - start
                found = facts
                return true
            } take: { piece in
                guard Int64(bytes.count) + Int64(piece.count) <= limit else {
                    refusal = whole == nil ? Refusal(text: "it is longer than asked for") : Self.tooLong(limit: limit)
                    return false
                }
                bytes.append(contentsOf: piece)
                return true
            }
        } catch {
            isWhole = whole != nil
            note(found, end)
            throw translated(error, refusal)
        }
        isWhole = whole != nil
        if let whole { found = server.facts(whole, byteCount: Int64(bytes.count)) }
        note(found, end)
    }

    /// The first answer says which object it is, and how long.
    private mutating func note(_ found: SourceFacts?, _ end: Int64) {
        guard let found, facts == nil else { return }
        facts = found
        if !isWhole { range = range.lowerBound..<max(range.lowerBound, end) }
    }

    /// Why an object that is sent whole cannot be read.
    private static func refusal(ofWhole answer: WebAnswer, limit: Int64) -> Refusal? {
        guard let length = answer.bodyLength else {
            // A body that ends with its connection may lack its end unnoticed.
            let text = "the server sends neither ranges nor the length of the source"
            return answer.isChunked ? nil : Refusal(kind: .notServed, text: text)
        }
        return length <= limit ? nil : tooLong(limit: limit)
    }

    private static func tooLong(limit: Int64) -> Refusal {
        let text =
            limit < ObjectReader.longestWhole
            ? "the server sends no ranges, and the sources of this job that are read as a whole are longer than"
            : "the server sends no ranges, and the source is longer than"
        return Refusal(kind: .notServed, text: "\(text) \(ObjectReader.longestWhole >> 20) MiB")
    }

    private func translated(_ error: StoreError, _ refusal: Refusal?) -> StoreError {
        var error = error
        if let refusal, error.kind == .stopped, !stop.isStopped {
            let isWrong = refusal.kind == .unexpectedAnswer
            error.kind = refusal.kind
            error.detail = isWrong ? server.unexpected(key, refusal.text).detail : refusal.text
        }
        // The object is gone, or another one has its key.
        let isOther =
            [.conditionFailed, .noSuchObject].contains(error.kind) || error.problem?.code == "InvalidRange"
        if error.kind == .changed || (known ?? facts) != nil && isOther {
            error.kind = .changed
            error.detail = "the object has changed since it was opened"
        }
        return error
    }
}

extension WebAnswer {
    var isChunked: Bool { header("transfer-encoding")?.lowercased().contains("chunked") == true }

    /// As the header says; `nil` if it says nothing that counts.
    var bodyLength: Int64? {
        guard !isChunked, let length = header("content-length").flatMap({ Int64($0) }), length >= 0 else { return nil }
        return length
    }
}
