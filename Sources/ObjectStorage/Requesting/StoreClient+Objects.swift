package import WebClient

/// The operations on objects and lists of them.
extension StoreClient {
    /// What the store tells of an object; `nil` if there is none.
    package func facts(of key: String, stop: WebStop? = nil) throws(StoreError) -> ObjectFacts? {
        let call = StoreCall("HEAD", key, "look at")
        do throws(StoreError) {
            let answer = try send(call, stop: stop).answer
            guard let facts = ObjectFacts(answer) else { throw unexpected(call, "it has no ETag or no length") }
            return facts
        } catch  where error.kind == .noSuchObject {
            return nil
        }
    }

    /// Stores `body` as the object `key` in one request, and returns its ETag. An error says whether the store may have
    /// stored it.
    package func put(
        _ body: StoreCall.Body,
        as key: String,
        condition: WriteCondition,
        order: String? = nil,
        contentType: String? = nil,
        attempts: Int? = nil,
        stop: WebStop? = nil
    ) throws(StoreError) -> String {
        var call = StoreCall("PUT", key, "write")
        call.send(body)
        var mark = order.map { ObjectMark(order: $0, key: key) }
        mark?.contentHash = call.bodyHash
        call.headers = condition.headers + storingHeaders(mark, contentType)
        call.isSentOnce = condition != .none
        call.attempts = attempts
        let answer = try send(call, stop: stop).answer
        guard let etag = answer.header("etag"), !etag.isEmpty else { throw unexpected(call, "it has no ETag") }
        return etag
    }

    /// Removes the object `key`. That there is none is no error.
    package func delete(_ key: String, attempts: Int? = nil) throws(StoreError) {
        var call = StoreCall("DELETE", key, "remove")
        call.attempts = attempts
        do throws(StoreError) {
            _ = try send(call)
        } catch  where error.kind == .noSuchObject {
            return
        }
    }

    /// A page of the list of keys that begin with `prefix`, behind `after` or where the token `from` says.
    package func page(
        prefix: String,
        delimiter: String? = nil,
        after: String? = nil,
        from token: String? = nil,
        most: Int = 1_000,
        stop: WebStop? = nil
    ) throws(StoreError) -> ObjectPage {
        var call = StoreCall("GET", "", "list")
        call.parameters = [
            .init("list-type", "2"), .init("encoding-type", "url"), .init("max-keys", String(most)),
            .init("prefix", prefix),
        ]
        if let delimiter { call.parameters.append(.init("delimiter", delimiter)) }
        if let token {
            call.parameters.append(.init("continuation-token", token))
        } else if let after {
            call.parameters.append(.init("start-after", after))
        }
        let answer = try send(call, stop: stop)
        return try read(call) { () throws(AnswerError) in try ObjectPage(try answer.root()) }
    }

    /// How objects are stored, as headers of the request that makes one.
    func storingHeaders(_ mark: ObjectMark?, _ contentType: String?) -> [WebRequest.Header] {
        let options = address.options
        let values: [(String, String?)] = [
            ("x-amz-storage-class", options.storageClass),
            ("x-amz-server-side-encryption", options.encryption?.rawValue),
            ("x-amz-server-side-encryption-aws-kms-key-id", options.keyOfEncryption),
            ("x-amz-acl", options.accessControl), ("Content-Type", contentType),
        ]
        return values.compactMap { name, value in value.map { WebRequest.Header(name, $0) } } + (mark?.headers ?? [])
    }

    /// Reads an answer of success.
    func read<Value>(_ call: StoreCall, _ body: () throws(AnswerError) -> Value) throws(StoreError) -> Value {
        do throws(AnswerError) {
            return try body()
        } catch {
            throw unexpected(call, error.description)
        }
    }

    func unexpected(_ call: StoreCall, _ why: String) -> StoreError {
        StoreError(
            .unexpectedAnswer,
            call.operation,
            place(call.key),
            "the answer of the store is not what was asked for: \(why)",
            mayHaveHappened: true
        )
    }
}
