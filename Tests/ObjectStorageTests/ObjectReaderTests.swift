import Conversion
import ObjectStorage
import ObjectStores
import TestSupport
import Testing
import WebClient

/// Reading by ranges, from a store that breaks off, changes and lies.
struct ObjectReaderTests {
    private func stocked(_ bytes: [UInt8]) throws -> (StrictStore, StoreClient) {
        let store = try StrictStore()
        let client = try store.client()
        _ = try client.put(.bytes(bytes), as: "a", condition: .none)
        return (store, client)
    }

    private func kind(_ body: () throws -> Void) -> StoreError.Kind? {
        do {
            try body()
            return nil
        } catch { return (error as? StoreError)?.kind }
    }

    @Test(arguments: [1, ObjectReader.shortest - 1, ObjectReader.shortest, ObjectReader.shortest + 1, 11_000_001])
    func objectsAreReadToTheirEnd(count: Int) throws {
        let bytes = testBytes(count)
        let (_, client) = try stocked(bytes)
        let reader = try ObjectReader.open("a", in: client)
        #expect(reader.facts.byteCount == Int64(count))
        #expect(try reader.allBytes() == bytes)
        #expect(try reader.bytes(at: Int64(count), 10).isEmpty)
        #expect(try reader.bytes(at: Int64(count) + 5, 10).isEmpty)
    }

    @Test func aReaderThatForgetsReadsAgain() throws {
        let bytes = testBytes(5_000_000)
        let (store, client) = try stocked(bytes)
        let reader = try ObjectReader.open("a", in: client)
        for _ in 0..<2 {
            #expect(try reader.allBytes() == bytes)
            reader.forget()
        }
        let first = try store.requests().count
        #expect(try reader.bytes(at: 0, 10) == Array(bytes.prefix(10)))
        #expect(try store.requests().count == first + 1)
    }

    @Test func emptyObjectHasNoBytes() throws {
        let (_, client) = try stocked([])
        let reader = try ObjectReader.open("a", in: client)
        #expect(reader.facts.byteCount == 0)
        #expect(try reader.allBytes().isEmpty)
    }

    @Test func missingObjectIsNamed() throws {
        let (_, client) = try stocked([])
        #expect(kind { _ = try ObjectReader.open("b", in: client) } == .noSuchObject)
    }

    @Test func smallObjectIsOneRequest() throws {
        let (store, client) = try stocked(testBytes(100_000))
        let count = try store.requests().count
        _ = try ObjectReader.open("a", in: client).allBytes()
        #expect(try store.requests().count == count + 1)
    }

    /// A probe reads at both ends and in between.
    @Test func jumpsReadLittle() throws {
        let bytes = testBytes(20_000_000)
        let (store, client) = try stocked(bytes)
        let count = try store.requests().count
        let reader = try ObjectReader.open("a", in: client)
        for offset in [19_999_000, 10_000_000, 5_000, 10_000_100, 15_000_000] {
            #expect(try reader.bytes(at: Int64(offset), 1_000) == Array(bytes[offset..<(offset + 1_000)]))
        }
        // The two blocks that were read last are kept.
        #expect(try store.requests().count <= count + 6)
    }

    @Test func brokenAnswersAreResumed() throws {
        let bytes = testBytes(3_000_000)
        let (store, client) = try stocked(bytes)
        try store.set(faults: .init(match: "GET", do: "truncate", times: 5, bytes: 50_000))
        let reader = try ObjectReader.open("a", in: client)
        #expect(try reader.allBytes() == bytes)
        try store.set(
            faults: .init(match: "GET", do: "reset", times: 2),
            .init(match: "GET", do: "status", times: 2, status: 503, code: "SlowDown")
        )
        #expect(try ObjectReader.open("a", in: client).allBytes() == bytes)
    }

    @Test func storeThatAlwaysBreaksOffIsGivenUp() throws {
        let (store, client) = try stocked(testBytes(1_000_000))
        let reader = try ObjectReader.open("a", in: client)
        try store.set(faults: .init(match: "GET", do: "reset", times: 1_000))
        #expect(kind { _ = try reader.bytes(at: 900_000, 10) } == .unavailable)
    }

    @Test func changedObjectIsNotReadOn() throws {
        let (_, client) = try stocked(testBytes(1_000_000))
        let reader = try ObjectReader.open("a", in: client)
        _ = try reader.bytes(at: 0, 10)
        _ = try client.put(.bytes(testBytes(999_999)), as: "a", condition: .none)
        #expect(kind { _ = try reader.bytes(at: 900_000, 10) } == .changed)
        #expect(StoreError(.changed, "read", "a", "b").code(.source) == .sourceChanged)
        let other = try ObjectReader.open("a", in: client)
        try client.delete("a")
        #expect(kind { _ = try other.bytes(at: 900_000, 10) } == .changed)
    }

    /// A store that ignores If-Match is found out by its ETag.
    @Test func answerOfAnotherObjectIsRefused() throws {
        let (store, client) = try stocked(testBytes(1_000_000))
        let reader = try ObjectReader.open("a", in: client)
        try store.set(faults: .init(match: "GET", do: "etag"))
        #expect(kind { _ = try reader.bytes(at: 900_000, 10) } == .changed)
    }

    @Test func wholeObjectIsNoRange() throws {
        let (store, client) = try stocked(testBytes(1_000))
        try store.set(faults: .init(match: "GET", do: "whole"))
        #expect(kind { _ = try ObjectReader.open("a", in: client) } == .unexpectedAnswer)
        // Servers that are written in Go answer in this way for an empty object.
        let (other, empty) = try stocked([])
        try other.set(faults: .init(match: "GET", do: "whole"))
        #expect(try ObjectReader.open("a", in: empty).facts.byteCount == 0)
    }

    @Test func bodyThatIsLongerThanItsRangeIsRefused() throws {
        let (store, client) = try stocked([1])
        let headers = ["Content-Range": "bytes 0-9/10", "ETag": "\"e\""]
        try store.set(faults: .init(match: "GET", do: "status", status: 206, code: "X", headers: headers))
        #expect(kind { _ = try ObjectReader.open("a", in: client) } == .unexpectedAnswer)
    }

    /// Containers are read at their end first.
    @Test func objectOfImpossibleLengthEndsNothing() throws {
        let store = try StrictStore()
        try store.set("sparse", json: #"{"key": "a", "size": \#(Int64.max), "head": ""}"#)
        let reader = try ObjectReader.open("a", in: store.client())
        #expect(reader.facts.byteCount == .max)
        #expect(try reader.bytes(at: .max - 10, 20) == [UInt8](repeating: 0, count: 10))
    }

    @Test func endOfAReaderLeavesTheStopOfItsCallerAlone() throws {
        let (_, client) = try stocked(testBytes(1_000))
        let stop = WebStop()
        _ = try ObjectReader.open("a", in: client, stop: stop)
        #expect(!stop.isStopped)
        #expect(try client.facts(of: "a", stop: stop) != nil)
    }

    /// The block that the reader waits for is fetched by another thread.
    @Test func stopEndsReadingAhead() throws {
        let store = try StrictStore()
        let stop = WebStop()
        // The first silence of the store stops the reader, before the next attempt.
        let client = try store.client(wait: { _ in stop.stop() })
        _ = try client.put(.bytes(testBytes(3_000_000)), as: "a", condition: .none)
        let reader = try ObjectReader.open("a", in: client, stop: stop)
        try store.set(faults: .init(match: "GET", do: "slow", times: 100, skip: 1, bytes: 0))
        let first = ObjectReader.shortest
        #expect(try reader.bytes(at: 0, first).count == first)
        let second = try reader.bytes(at: Int64(first), 3_000_000).count
        #expect(kind { _ = try reader.bytes(at: Int64(first + second), 10) } == .stopped)
    }

    @Test func cancelledReaderReadsNothing() throws {
        let (store, client) = try stocked(testBytes(1_000_000))
        let reader = try ObjectReader.open("a", in: client)
        try store.set(faults: .init(match: "GET", do: "status", times: 1_000, status: 503, code: "SlowDown"))
        let count = try store.requests().count
        reader.cancel()
        #expect(kind { _ = try reader.bytes(at: 900_000, 10) } == .stopped)
        #expect(try store.requests().count == count)
    }

    // MARK: - Lists

    @Test func listsAreReadPageByPage() throws {
        let store = try StrictStore()
        let client = try store.client()
        for number in 0..<25 { _ = try client.put(.none, as: "p/\(number)", condition: .none) }
        _ = try client.put(.none, as: "q", condition: .none)
        var keys: [String] = []
        var token: String?
        repeat {
            let page = try client.page(prefix: "p/", from: token, most: 10)
            keys += page.objects.map(\.key)
            token = page.next
        } while token != nil
        #expect(keys.count == 25)
        #expect(keys == keys.sorted())
        var list = ObjectList(client, prefix: "p/", after: keys[9])
        var rest: [String] = []
        while let page = try list.next() { rest += page.map(\.key) }
        #expect(rest == Array(keys[10...]))
        #expect(list.last == keys.last)
        #expect(list.isAtEnd)
    }
}
