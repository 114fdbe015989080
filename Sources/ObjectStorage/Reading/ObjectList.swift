package import WebClient

/// The objects below a root, page by page: in the order of their keys, if the store keeps it. Holds one page, whatever the
/// length of the list.
package struct ObjectList: Sendable {
    private let client: StoreClient
    /// Keys begin with it.
    private let prefix: String
    private let stop: WebStop?
    private var token: String?
    /// As bytes: texts that differ in their Unicode form only are different keys.
    private var tokens = CycleDetection<[UInt8]>()
    /// The last key of each page that has keys.
    private var ends = CycleDetection<[UInt8]>()
    /// The pages in a row that have no keys.
    private var emptyPages = 0
    /// A store that sends more of them in a row does not come to an end.
    private static let mostEmptyPages = 1_000
    /// The last key so far. A list that begins behind it goes on where this one was interrupted.
    private(set) package var last: String?
    private(set) package var isAtEnd = false

    /// Lists keys that begin with `prefix`, behind `last` if it is given. Asks for nothing yet.
    package init(_ client: StoreClient, prefix: String, after last: String? = nil, stop: WebStop? = nil) {
        (self.client, self.prefix, self.last, self.stop) = (client, prefix, last, stop)
    }

    /// The next objects; `nil` at the end. A page may be empty. Throws if the store repeats pages or sends empty ones only.
    package mutating func next() throws(StoreError) -> [ObjectEntry]? {
        guard !isAtEnd else { return nil }
        let page: ObjectPage
        do throws(StoreError) {
            page = try client.page(prefix: prefix, after: last, from: token, stop: stop)
        } catch  where token != nil && error.kind == .refused {
            // A token may end before the list does. The last key is as good.
            token = nil
            page = try client.page(prefix: prefix, after: last, stop: stop)
        }
        try check(page)
        (last, token, isAtEnd) = (page.objects.last?.key ?? last, page.next, page.next == nil)
        return page.objects
    }

    /// Keys need not be sorted: directory buckets of AWS do not sort them. But no key is in a list twice.
    private mutating func check(_ page: ObjectPage) throws(StoreError) {
        emptyPages = page.objects.isEmpty ? emptyPages + 1 : 0
        let isRepeated =
            page.next.map { tokens.repeats(Array($0.utf8)) } == true
            || page.objects.last.map { ends.repeats(Array($0.key.utf8)) } == true
        guard !isRepeated, emptyPages <= Self.mostEmptyPages else {
            throw client.unexpected(StoreCall("GET", "", "list"), "the list does not advance")
        }
    }
}
