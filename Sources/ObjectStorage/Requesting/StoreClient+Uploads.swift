package import WebClient

/// The operations on uploads in parts.
extension StoreClient {
    /// Begins an upload, and returns its id. After a lost answer, a further upload remains in the store.
    package func beginUpload(
        to key: String,
        order: String?,
        contentType: String? = nil,
        stop: WebStop? = nil
    ) throws(StoreError) -> String {
        var call = StoreCall("POST", key, "begin an upload to")
        call.parameters = [.init("uploads")]
        call.headers = storingHeaders(order.map { ObjectMark(order: $0, key: key) }, contentType)
        let answer = try send(call, stop: stop)
        return try read(call) { () throws(AnswerError) in try UploadAnswers.begun(try answer.root()) }
    }

    /// Sends a part. One with the same number is replaced, so that a lost answer does not matter.
    package func send(
        _ part: PartFile,
        number: Int,
        of upload: String,
        to key: String,
        stop: WebStop? = nil
    ) throws(StoreError) -> UploadedPart {
        var call = StoreCall("PUT", key, "send part \(number) of")
        call.parameters = [.init("partNumber", String(number)), .init("uploadId", upload)]
        call.send(.part(part))
        let answer = try send(call, stop: stop).answer
        guard let etag = answer.header("etag"), !etag.isEmpty else { throw unexpected(call, "it has no ETag") }
        return UploadedPart(number: number, etag: etag, byteCount: part.byteCount)
    }

    /// Has the store make the object, and returns its ETag. Errors inside answers of success are thrown like others.
    package func complete(
        _ upload: String,
        of parts: [UploadedPart],
        to key: String,
        condition: WriteCondition,
        attempts: Int? = nil,
        stop: WebStop? = nil
    ) throws(StoreError) -> String {
        var call = StoreCall("POST", key, "complete the upload to")
        call.parameters = [.init("uploadId", upload)]
        call.headers = condition.headers + [WebRequest.Header("Content-Type", "application/xml")]
        call.body = .bytes(UploadAnswers.completion(of: parts))
        // The store may need minutes to put thousands of parts together. AWS sends spaces meanwhile, others nothing.
        call.timeLimit = .seconds(600)
        call.mayBeSilent = true
        call.attempts = attempts
        call.isSentOnce = true
        let answer = try send(call, stop: stop)
        let result = try read(call) { () throws(AnswerError) in
            try UploadAnswers.completed(try answer.root(), status: answer.answer.status)
        }
        switch result {
        case .success(let etag): return etag
        case .failure(let problem):
            // The code says what the status would have.
            throw StoreError(
                StoreError.Kind(problem),
                call.operation,
                place(key),
                problem.description,
                problem: problem,
                mayHaveHappened: problem.isTemporary || answer.mayHaveHappenedBefore
            )
        }
    }

    /// Ends an upload and has the store forget its parts, within `deadline`; `nil` for the client's usual one. That there is
    /// no such upload is no error.
    package func abort(
        _ upload: String,
        to key: String,
        within deadline: Duration? = nil,
        stop: WebStop? = nil
    ) throws(StoreError) {
        var call = StoreCall("DELETE", key, "abort the upload to")
        call.deadline = deadline
        call.parameters = [.init("uploadId", upload)]
        do throws(StoreError) {
            _ = try send(call, stop: stop)
        } catch  where error.kind == .noSuchUpload || error.kind == .noSuchObject {
            return
        }
    }

    /// The parts of an upload that the store has.
    package func parts(of upload: String, to key: String, stop: WebStop? = nil) throws(StoreError) -> [UploadedPart] {
        var call = StoreCall("GET", key, "list the parts of the upload to")
        var parts: [UploadedPart] = []
        var marker: Int?
        repeat {
            call.parameters = [.init("uploadId", upload)]
            if let marker { call.parameters.append(.init("part-number-marker", String(marker))) }
            let answer = try send(call, stop: stop)
            let page = try read(call) { () throws(AnswerError) in try UploadAnswers.parts(try answer.root()) }
            if let marker, let next = page.next, next <= marker { throw unexpected(call, "the list goes back") }
            parts += page.parts
            marker = page.next
        } while marker != nil
        return parts
    }

    /// Gives `body` the uploads to keys that begin with `prefix`, page by page, until it returns false.
    package func uploads(
        prefix: String,
        stop: WebStop? = nil,
        _ body: ([OpenUpload]) throws(StoreError) -> Bool
    ) throws(StoreError) {
        var call = StoreCall("GET", "", "list the uploads in")
        var marker: UploadAnswers.Marker?
        var markers = CycleDetection<[[UInt8]]>()
        while true {
            call.parameters = [.init("uploads"), .init("encoding-type", "url"), .init("prefix", prefix)]
            if let marker {
                call.parameters.append(.init("key-marker", marker.key))
                if !marker.id.isEmpty { call.parameters.append(.init("upload-id-marker", marker.id)) }
            }
            let answer = try send(call, stop: stop)
            let page = try read(call) { () throws(AnswerError) in try UploadAnswers.uploads(try answer.root()) }
            // Some stores ignore the prefix, and callers abort what they get.
            let below = page.uploads.filter { $0.key.utf8.starts(with: prefix.utf8) }
            guard try body(below), let next = page.next else { return }
            guard !markers.repeats([Array(next.key.utf8), Array(next.id.utf8)]) else {
                throw unexpected(call, "the list does not advance")
            }
            marker = next
        }
    }

    /// Aborts the uploads to keys that begin with `prefix` which have begun before `limit` and are not `isWanted`. Returns
    /// their number.
    package func abortUploads(
        prefix: String,
        begunBefore limit: StoreTime,
        except isWanted: (OpenUpload) -> Bool
    ) throws(StoreError) -> Int {
        var count = 0
        try uploads(prefix: prefix) { (page) throws(StoreError) in
            for upload in page {
                // An upload without a time may be a new one.
                guard let begun = upload.begun, begun < limit, !isWanted(upload) else { continue }
                try abort(upload.id, to: upload.key)
                count += 1
            }
            return true
        }
        return count
    }
}
