import Foundation
import Hashing
import ObjectStorage
import ObjectStores
import Synchronization
import TestSupport
import Testing
import WebClient

/// Writing in parts and publishing, to a store that loses answers and lies about conditions.
struct ObjectWriterTests {
    private static let part: Int64 = 100_000

    private struct Setting {
        let store: StrictStore
        let client: StoreClient
        let folder: TemporaryFolder
    }

    private func setting() throws -> Setting {
        let store = try StrictStore()
        try store.set("smallest", json: "\(Self.part)")
        return Setting(store: store, client: try store.client(), folder: try TemporaryFolder.create())
    }

    private func write(
        _ bytes: [UInt8],
        in setting: Setting,
        order: String = "order-1",
        patch: (bytes: [UInt8], offset: Int64)? = nil,
        contentType: String? = nil,
        onUpload: @escaping (String) throws -> Void = { _ in }
    ) throws -> FinishedOutput {
        var writer = ObjectWriter(
            setting.client,
            key: "out",
            order: order,
            sizes: PartSizes(fixed: Self.part),
            contentType: contentType,
            folder: setting.folder.path,
            onUpload: onUpload
        )
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(33_333))
            rest = rest.dropFirst(33_333)
            try append(piece, to: &writer)
        }
        if let patch { try self.patch(patch.bytes, at: patch.offset, of: &writer) }
        return try writer.finish()
    }

    private func append(_ bytes: [UInt8], to writer: inout ObjectWriter) throws {
        try bytes.withUnsafeBytes { try writer.append($0) }
    }

    private func patch(_ bytes: [UInt8], at offset: Int64, of writer: inout ObjectWriter) throws {
        try bytes.withUnsafeBytes { try writer.patch($0, at: offset) }
    }

    private func publish(
        _ output: FinishedOutput,
        in setting: Setting,
        condition: WriteCondition = .absent
    ) throws -> ObjectPublication.Outcome {
        try ObjectPublication(setting.client) { _ in }.publish(output, condition: condition)
    }

    private func content(_ setting: Setting) throws -> [UInt8] {
        try setting.client.send(StoreCall("GET", "out", "read")).answer.body
    }

    private func isPublished(_ outcome: ObjectPublication.Outcome, adopted: Bool) -> Bool {
        if case .published(_, adopted) = outcome { true } else { false }
    }

    // MARK: - Parts

    @Test(arguments: [0, 1, 99_999, 100_000, 100_001, 200_000, 1_234_567])
    func outputsArriveWhole(count: Int) throws {
        let setting = try setting()
        let bytes = testBytes(count)
        let output = try write(bytes, in: setting)
        #expect(output.byteCount == Int64(count))
        #expect(output.sha256 == SHA256Hash.digest(of: bytes))
        #expect(try setting.store.state().objects.isEmpty)
        #expect(isPublished(try publish(output, in: setting), adopted: false))
        #expect(try content(setting) == bytes)
        #expect(try setting.client.facts(of: "out")?.order == "order-1")
        #expect(try setting.store.state().uploads.isEmpty)
        #expect(try setting.folder.names().isEmpty)
    }

    @Test func smallOutputIsOneRequest() throws {
        let setting = try setting()
        _ = try publish(write(testBytes(50_000), in: setting), in: setting)
        #expect(try setting.store.requests().count == 1)
    }

    @Test(arguments: [50_000, 350_000])
    func headIsChangedAtTheEnd(count: Int) throws {
        let setting = try setting()
        var bytes = testBytes(count)
        let patch: [UInt8] = [1, 2, 3, 4]
        let output = try write(bytes, in: setting, patch: (patch, 40))
        bytes.replaceSubrange(40..<44, with: patch)
        // What has been sent cannot be hashed again.
        #expect(output.sha256 == (count > 100_000 ? nil : SHA256Hash.digest(of: bytes)))
        _ = try publish(output, in: setting)
        #expect(try content(setting) == bytes)
    }

    @Test(arguments: [Int64(100_000), .max, -1])
    func bytesThatWereSentAreNotChanged(offset: Int64) throws {
        let setting = try setting()
        #expect(throws: StoreError.self) {
            _ = try write(testBytes(350_000), in: setting, patch: ([1], offset))
        }
    }

    /// A caller that goes on after an error does not get an output with a gap.
    @Test func outputThatLacksAPartIsNotFinished() throws {
        let setting = try setting()
        try setting.store.set(faults: .init(match: "partNumber=2", do: "status", status: 403, code: "AccessDenied"))
        var writer = ObjectWriter(
            setting.client,
            key: "out",
            order: "o",
            sizes: PartSizes(fixed: Self.part),
            folder: setting.folder.path
        )
        do {
            try append(testBytes(450_000), to: &writer)
            Issue.record("a part was sent that the store has refused")
        } catch { #expect((error as? StoreError)?.kind == .accessDenied) }
        do {
            _ = try writer.finish()
            Issue.record("an output without its second part was finished")
        } catch { #expect((error as? StoreError)?.kind == .refused) }
    }

    @Test func uploadIsKnownBeforeItsParts() throws {
        let setting = try setting()
        let known = Mutex<[String]>([])
        _ = try write(testBytes(350_000), in: setting) { id in
            let sent = try setting.client.parts(of: id, to: "out")
            #expect(sent.isEmpty)
            known.withLock { $0.append(id) }
        }
        #expect(try setting.store.state().uploads.keys.sorted() == known.withLock { $0 })
        let id = try #require(known.withLock { $0 }.first)
        #expect(try setting.client.parts(of: id, to: "out").map(\.number) == [1, 2, 3, 4])
        try setting.client.abort(id, to: "out")
        try setting.client.abort(id, to: "out")
        #expect(try setting.store.state().uploads.isEmpty)
    }

    @Test func partsAreSentAgain() throws {
        let setting = try setting()
        try setting.store.set(
            faults: .init(match: "partNumber=2", do: "lose", times: 2),
            .init(match: "partNumber=3", do: "status", times: 2, status: 503, code: "SlowDown"),
            .init(match: "partNumber=1", do: "reset")
        )
        let bytes = testBytes(350_000)
        _ = try publish(write(bytes, in: setting), in: setting)
        #expect(try content(setting) == bytes)
    }

    @Test func abandonedOutputLeavesNothing() throws {
        let setting = try setting()
        var writer = ObjectWriter(
            setting.client,
            key: "out",
            order: "o",
            sizes: PartSizes(fixed: Self.part),
            folder: setting.folder.path
        )
        try append(testBytes(350_000), to: &writer)
        try writer.abandon()
        let state = try setting.store.state()
        #expect(state.uploads.isEmpty && state.objects.isEmpty)
    }

    /// The caller uses its stop for other outputs, too. One that was stopped has its output removed all the same.
    @Test(arguments: [false, true])
    func abandoningLeavesTheStopOfTheCallerAlone(isStopped: Bool) throws {
        let setting = try setting()
        let stop = WebStop()
        var writer = ObjectWriter(
            setting.client,
            key: "out",
            order: "o",
            sizes: PartSizes(fixed: Self.part),
            folder: setting.folder.path,
            stop: stop
        )
        try append(testBytes(350_000), to: &writer)
        if isStopped { stop.stop() }
        try writer.abandon()
        #expect(stop.isStopped == isStopped)
        #expect(try setting.store.state().uploads.isEmpty)
        if !isStopped { #expect(try setting.client.facts(of: "out", stop: stop) == nil) }
    }

    /// Another thread sends the part.
    @Test func stopOfTheCallerEndsTheSendingOfParts() throws {
        let setting = try setting()
        try setting.store.set(
            faults: .init(match: "partNumber=2", do: "status", times: 10_000, status: 503, code: "SlowDown")
        )
        let stop = WebStop()
        // The first refusal of the store stops the caller.
        let client = try setting.store.client(attempts: 10_000, wait: { _ in stop.stop() })
        var writer = ObjectWriter(
            client,
            key: "out",
            order: "o",
            sizes: PartSizes(fixed: Self.part),
            folder: setting.folder.path,
            stop: stop
        )
        try append(testBytes(250_000), to: &writer)
        do {
            _ = try writer.finish()
            Issue.record("an output was finished after its stop")
        } catch { #expect((error as? StoreError)?.kind == .stopped) }
    }

    @Test(arguments: [50_000, 350_000])
    func objectsKeepTheirType(count: Int) throws {
        let setting = try setting()
        _ = try publish(write(testBytes(count), in: setting, contentType: "audio/flac"), in: setting)
        #expect(try setting.client.facts(of: "out")?.contentType == "audio/flac")
    }

    /// Some stores want equal parts.
    @Test func ordinaryOutputsHaveEqualParts() throws {
        let setting = try setting()
        try setting.store.set("equal_parts", json: "true")
        let bytes = testBytes(350_000)
        #expect(isPublished(try publish(write(bytes, in: setting), in: setting), adopted: false))
        #expect(try content(setting) == bytes)
    }

    @Test func oldUploadsAreFoundAndAborted() throws {
        let setting = try setting()
        for number in 0..<5 { _ = try setting.client.beginUpload(to: "p/\(number)", order: nil) }
        _ = try setting.client.beginUpload(to: "q", order: nil)
        let later = StoreTime.now().advanced(by: .seconds(60))
        let earlier = StoreTime.now().advanced(by: .seconds(-60))
        #expect(try setting.client.abortUploads(prefix: "p/", begunBefore: earlier) { _ in false } == 0)
        #expect(try setting.client.abortUploads(prefix: "p/", begunBefore: later) { $0.key == "p/3" } == 4)
        #expect(try setting.store.state().uploads.values.sorted() == ["p/3", "q"])
    }

    /// A store that ignores the prefix costs no other program its uploads.
    @Test func uploadsElsewhereAreNotAborted() throws {
        let setting = try setting()
        try setting.store.set("ignores_prefix", json: "true")
        for key in ["o", "p/1", "p/2", "q", "r"] { _ = try setting.client.beginUpload(to: key, order: nil) }
        let later = StoreTime.now().advanced(by: .seconds(60))
        #expect(try setting.client.abortUploads(prefix: "p/", begunBefore: later) { _ in false } == 2)
        #expect(try setting.store.state().uploads.values.sorted() == ["o", "q", "r"])
    }

    @Test func partsGrowSoThatFiveTerabytesFit() {
        let sizes = PartSizes()
        #expect(sizes.byteCount(ofPart: 1) == 8 << 20)
        #expect(sizes.byteCount(ofPart: 6_000) == 8 << 20)
        #expect(sizes.byteCount(ofPart: 6_001) == 16 << 20)
        #expect(sizes.byteCount(ofPart: 6_400) == 16 << 20)
        #expect(sizes.byteCount(ofPart: 6_401) == 32 << 20)
        #expect(sizes.byteCount(ofPart: 10_000) <= PartSizes.longest)
        #expect(sizes.mostBytes >= 5 << 40)
        for count in [-1, 0, 1, 8 << 20, 100 << 30, Int64(5) << 40] {
            let equal = PartSizes(expecting: count)
            #expect(equal.mostBytes >= count)
            #expect(equal.byteCount(ofPart: 1) == equal.byteCount(ofPart: 9_999))
            #expect(equal.byteCount(ofPart: 1) >= PartSizes.shortest)
        }
    }

    // MARK: - Publishing

    @Test(arguments: [50_000, 350_000])
    func existingObjectIsLeftAlone(count: Int) throws {
        let setting = try setting()
        let output = try write(testBytes(count), in: setting)
        let etag = try setting.client.put(.bytes([1]), as: "out", condition: .none)
        guard case .exists(let facts) = try publish(output, in: setting) else {
            Issue.record("an object was replaced")
            return
        }
        #expect(facts.etag == etag)
        #expect(try content(setting) == [1])
        // Replacing needs the ETag of what is replaced.
        #expect(isPublished(try publish(output, in: setting, condition: .matches(etag)), adopted: false))
        #expect(try content(setting).count == count)
    }

    @Test(arguments: [50_000, 350_000])
    func lostAnswerIsFoundOut(count: Int) throws {
        let setting = try setting()
        let output = try write(testBytes(count), in: setting)
        let match = count > 100_000 ? "POST /bucket/out?uploadId" : "PUT /bucket/out"
        try setting.store.set(faults: .init(match: match, do: "lose"))
        #expect(isPublished(try publish(output, in: setting), adopted: true))
        // A process that begins again finds its own object.
        #expect(isPublished(try publish(output, in: setting), adopted: true))
        #expect(try setting.store.state().objects == ["out": count])
    }

    /// Every answer is lost: only the object tells.
    @Test func answersThatAreAllLostAreFoundOut() throws {
        let setting = try setting()
        let output = try write(testBytes(350_000), in: setting)
        try setting.store.set(faults: .init(match: "POST /bucket/out?uploadId", do: "lose", times: 1_000))
        #expect(isPublished(try publish(output, in: setting), adopted: true))
    }

    @Test func objectOfAnotherAttemptIsNotAdopted() throws {
        let setting = try setting()
        let first = try write(testBytes(350_000), in: setting, order: "order-1")
        let second = try write(testBytes(350_000), in: setting, order: "order-2")
        #expect(isPublished(try publish(first, in: setting), adopted: false))
        guard case .exists(let facts) = try publish(second, in: setting) else {
            Issue.record("two attempts published")
            return
        }
        #expect(facts.order == "order-1")
    }

    /// The order is that of the output, the object is not.
    @Test func objectWithOtherContentIsNotAdopted() throws {
        let setting = try setting()
        for count in [50_000, 350_000] {
            let output = try write(testBytes(count), in: setting)
            let other = try write(Array(testBytes(count).reversed()), in: setting)
            #expect(isPublished(try publish(other, in: setting), adopted: false))
            guard case .exists(let facts) = try publish(output, in: setting) else {
                Issue.record("an object with other bytes was adopted")
                return
            }
            #expect(facts.order == output.order && facts.byteCount == output.byteCount)
            try setting.client.delete("out")
        }
    }

    /// Programs that copy objects copy their metadata.
    @Test func copyOfTheOutputOfAnotherKeyIsNotAdopted() throws {
        let setting = try setting()
        let bytes = testBytes(50_000)
        let output = try write(bytes, in: setting)
        var call = StoreCall("PUT", "out", "copy to")
        call.headers = [
            WebRequest.Header("x-amz-meta-sluice-order", output.order),
            WebRequest.Header("x-amz-meta-sluice-key", StoreRequest.hash(of: Array("other".utf8))),
            WebRequest.Header("x-amz-meta-sluice-sha256", StoreRequest.hash(of: bytes)),
        ]
        call.send(.bytes(bytes))
        _ = try setting.client.send(call)
        guard case .exists = try publish(output, in: setting) else {
            Issue.record("a copy was adopted")
            return
        }
    }

    @Test func errorInsideAnAnswerOfSuccessIsTriedAgain() throws {
        let setting = try setting()
        let bytes = testBytes(350_000)
        let output = try write(bytes, in: setting)
        try setting.store.set(faults: .init(match: "POST /bucket/out?uploadId", do: "error_inside", times: 3))
        #expect(isPublished(try publish(output, in: setting), adopted: false))
        #expect(try content(setting) == bytes)
    }

    @Test func conflictNeedsANewUpload() throws {
        let setting = try setting()
        let output = try write(testBytes(350_000), in: setting)
        let conflict = StrictStore.Fault(
            match: "POST /bucket/out?",
            do: "status",
            times: 1_000,
            status: 409,
            code: "ConditionalRequestConflict"
        )
        try setting.store.set(faults: conflict)
        #expect(try publish(output, in: setting) == .mustRestart)
        // AWS drops the upload at once.
        var first = conflict
        first.times = 1
        try setting.store.set(
            faults: first,
            .init(match: "POST /bucket/out?", do: "status", status: 404, code: "NoSuchUpload")
        )
        #expect(try publish(output, in: setting) == .mustRestart)
        // The other request may have been one of an earlier process.
        try setting.store.set(faults: conflict)
        do {
            _ = try ObjectPublication(setting.client) { _ in }.publish(output, condition: .absent, isRepeated: true)
            Issue.record("an unknown outcome was called one")
        } catch { #expect(error.mayHaveHappened) }
        // A small output is sent again at once.
        let small = try write(testBytes(50_000), in: setting)
        try setting.store.set(
            faults: .init(match: "PUT", do: "status", status: 409, code: "ConditionalRequestConflict")
        )
        #expect(isPublished(try publish(small, in: setting), adopted: false))
    }

    /// The store is still at work on the request whose answer was lost.
    @Test func conflictWithAnEarlierAttemptIsNoOtherWriter() throws {
        let setting = try setting()
        let bytes = testBytes(350_000)
        let output = try write(bytes, in: setting)
        try setting.store.set(faults: .init(match: "POST /bucket/out?uploadId", do: "late", after: 4))
        #expect(isPublished(try publish(output, in: setting), adopted: true))
        #expect(try content(setting) == bytes)
    }

    @Test func abortedUploadPublishesNothing() throws {
        let setting = try setting()
        let output = try write(testBytes(350_000), in: setting)
        guard case .upload(let id, _) = output.bytes else { throw SupportError("write", "it is no upload") }
        try setting.client.abort(id, to: "out")
        do {
            _ = try publish(output, in: setting)
            Issue.record("an aborted upload was published")
        } catch { #expect((error as? StoreError)?.kind == .noSuchUpload) }
        #expect(try setting.store.state().objects.isEmpty)
    }

    /// What is there may be replaced: it is not in the way, the upload is gone.
    @Test func lostUploadIsNotCalledAnExistingObject() throws {
        let setting = try setting()
        let output = try write(testBytes(350_000), in: setting)
        guard case .upload(let id, _) = output.bytes else { throw SupportError("write", "it is no upload") }
        try setting.client.abort(id, to: "out")
        let etag = try setting.client.put(.bytes([1]), as: "out", condition: .none)
        for condition in [WriteCondition.none, .matches(etag)] {
            do {
                _ = try publish(output, in: setting, condition: condition)
                Issue.record("an object that may be replaced was left alone")
            } catch { #expect((error as? StoreError)?.kind == .noSuchUpload) }
        }
    }

    /// A store may need longer than it may be silent otherwise.
    @Test func slowCompletionIsWaitedFor() throws {
        let setting = try setting()
        let output = try write(testBytes(350_000), in: setting)
        // Twice as long as the limit of this client.
        try setting.store.set(faults: .init(match: "POST /bucket/out?uploadId", do: "slow", bytes: 0, seconds: 12))
        #expect(isPublished(try publish(output, in: setting), adopted: false))
    }

    /// Whatever fails after a lost answer, the output may be there.
    @Test func openOutcomesStayOpen() throws {
        let setting = try setting()
        let small = try write(testBytes(50_000), in: setting)
        let large = try write(testBytes(350_000), in: setting)
        try setting.store.set(
            faults: .init(match: "PUT /bucket/out", do: "lose"),
            .init(match: "HEAD /bucket/out", do: "status", status: 403, code: "AccessDenied")
        )
        for output in [small, large] {
            do {
                _ = try publish(output, in: setting)
                Issue.record("an unknown outcome was called one")
            } catch { #expect((error as? StoreError)?.mayHaveHappened == true) }
            try setting.store.set(
                faults: .init(match: "POST /bucket/out?uploadId", do: "error_inside"),
                .init(match: "POST /bucket/out?uploadId", do: "status", status: 403, code: "AccessDenied")
            )
        }
    }

    @Test func storeThatIsGoneLeavesItOpen() throws {
        let setting = try setting()
        let output = try write(testBytes(350_000), in: setting)
        try setting.store.set(faults: .init(match: "/bucket/out", do: "reset", times: 1_000))
        do {
            _ = try publish(output, in: setting)
            Issue.record("an unknown outcome was called one")
        } catch { #expect((error as? StoreError)?.mayHaveHappened == true) }
    }
}
