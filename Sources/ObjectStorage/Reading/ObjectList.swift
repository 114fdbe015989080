package import WebClient

/// The objects below a root, page by page: in the order of their keys, if the store keeps it. Holds one page, whatever the
/// length of the list.
package struct ObjectList: Sendable {
    private let client: StoreClient
    /// Keys begin with it.
    private let prefix: String
    private let stop: WebStop?
    private var token: String?
    /// The last key so far. A list that begins behind it goes on where this one was interrupted.
    private(set) package var last: String?
    private(set) package var isAtEnd = false

    /// Lists keys that begin with `prefix`, behind `last` if it is given. Asks for nothing yet.
    package init(_ client: StoreClient, prefix: String, after last: String? = nil, stop: WebStop? = nil) {
        (self.client, self.prefix, self.last, self.stop) = (client, prefix, last, stop)
    }

    /// The next objects; `nil` at the end. A page may be empty.
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
        guard page.next == nil || page.next != token else {
            throw client.unexpected(StoreCall("GET", "", "list"), "the list does not advance")
        }
        (last, token, isAtEnd) = (page.objects.last?.key ?? last, page.next, page.next == nil)
        return page.objects
    }
}
