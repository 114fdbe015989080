import CCurl
import Glibc

/// Sends requests one after the other, and keeps the connection open between them. Its calls block.
package final class WebConnection {
    private let handle: UnsafeMutableRawPointer
    /// Keeps the connections of requests that can be stopped.
    private let multi: UnsafeMutableRawPointer
    /// The rules of all requests so far. A connection that was kept is of one of them.
    private var rules: Set<AddressRule> = []

    /// libcurl's own preparation, once in a process.
    private static let isReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    package init() throws(WebError) {
        guard Self.isReady, let handle = curl_easy_init() else {
            throw WebError(.badRequest, "cannot prepare libcurl")
        }
        guard let multi = curl_multi_init() else {
            curl_easy_cleanup(handle)
            throw WebError(.badRequest, "cannot prepare libcurl")
        }
        (self.handle, self.multi) = (handle, multi)
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_multi_cleanup(multi)
    }

    /// Sends `request`, and returns the answer whatever its status is. Follows no redirects.
    ///
    /// With `take`, the body of an answer with a status of 200 to 299 goes there piece by piece; it ends the exchange
    /// when it returns false. Before, `begin` gets the answer without its body, and ends the exchange in the same way.
    /// `sent` is told how many bytes of the request's body have been sent. `isStopped` is asked about once a second; `stop`
    /// ends the exchange at once.
    package func send(
        _ request: WebRequest,
        begin: ((WebAnswer) -> Bool)? = nil,
        take: ((UnsafeRawBufferPointer) -> Bool)? = nil,
        sent: ((Int64) -> Void)? = nil,
        stop: WebStop? = nil,
        isStopped: @escaping () -> Bool = { false }
    ) throws(WebError) -> WebAnswer {
        try request.validate()
        let exchange = Exchange(request, isTaken: take != nil)
        (exchange.begin, exchange.take, exchange.report, exchange.isStopped) = (begin, take, sent, isStopped)
        defer { (exchange.begin, exchange.take, exchange.report, exchange.isStopped) = (nil, nil, nil, nil) }
        // Forgets the earlier request and keeps the connection.
        curl_easy_reset(handle)
        let lines = prepare(request, exchange)
        defer { curl_slist_free_all(lines) }
        let code = withExtendedLifetime(exchange) {
            stop?.perform(handle, in: multi) ?? curl_easy_perform(handle)
        }
        // What cuts the body of such an answer, its length or its time, does not matter. A stop does.
        let isCut =
            request.takesCutAnswers && exchange.hasHeader && !exchange.isGivenAway
            && code != CURLE_ABORTED_BY_CALLBACK
        guard code == CURLE_OK || exchange.hasAllItWants || isCut else { throw exchange.error(code, request) }
        var status = 0
        sluice_get_number(handle, CURLINFO_RESPONSE_CODE, &status)
        var answer = WebAnswer(status: status, headers: exchange.headers, body: exchange.body)
        answer.address = text(CURLINFO_PRIMARY_IP).flatMap { NetworkAddress($0) }
        answer.target = text(CURLINFO_REDIRECT_URL)
        return answer
    }

    private func text(_ info: CURLINFO) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        sluice_get_text(handle, info, &text)
        // Lives as long as the handle keeps it.
        return text.map { String(cString: $0) }
    }

    /// Sets what libcurl has to know. The caller frees the list of header lines.
    private func prepare(_ request: WebRequest, _ exchange: Exchange) -> UnsafeMutablePointer<curl_slist>? {
        let context = Unmanaged.passUnretained(exchange).toOpaque()
        sluice_set_number(handle, CURLOPT_NOSIGNAL, 1)
        sluice_set_text(handle, CURLOPT_URL, request.url)
        sluice_set_text(handle, CURLOPT_PROTOCOLS_STR, "http,https")
        sluice_set_number(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
        // The answer of a proxy to CONNECT is not the one that callers wait for.
        sluice_set_number(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        if request.keepsPath { sluice_set_number(handle, CURLOPT_PATH_AS_IS, 1) }
        if request.isDirect || request.unixSocket != nil || request.addresses != .any {
            // A proxy of the environment would connect in our place, to any address.
            sluice_set_text(handle, CURLOPT_PROXY, "")
        }
        // A kept connection may lead to an address that this request may not connect to, unless all are of its own rule.
        let mayReuse = request.addresses == .any || rules.isSubset(of: [request.addresses])
        rules.insert(request.addresses)
        if !mayReuse || request.isSentOnce { sluice_set_number(handle, CURLOPT_FRESH_CONNECT, 1) }
        if let socket = request.unixSocket { sluice_set_text(handle, CURLOPT_UNIX_SOCKET_PATH, socket) }
        if let authorities = request.authorities { sluice_set_text(handle, CURLOPT_CAINFO, authorities) }
        sluice_set_number(handle, CURLOPT_CONNECTTIMEOUT_MS, 10_000)
        // A look-up that is under way at the end of its time is left alone. Its thread ends when the name server gives up.
        sluice_set_number(handle, CURLOPT_QUICK_EXIT, 1)
        if let limit = request.timeLimit {
            sluice_set_number(handle, CURLOPT_TIMEOUT_MS, max(1, Int(limit / .milliseconds(1))))
        }
        if let limit = request.silenceLimit {
            sluice_set_number(handle, CURLOPT_LOW_SPEED_LIMIT, 1)
            sluice_set_number(handle, CURLOPT_LOW_SPEED_TIME, max(1, Int(limit / .seconds(1))))
        }
        sluice_set_write(handle, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            Exchange.at(context).takeHeader(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        sluice_set_pointer(handle, CURLOPT_HEADERDATA, context)
        sluice_set_write(handle, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            Exchange.at(context).takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
        }
        sluice_set_pointer(handle, CURLOPT_WRITEDATA, context)
        sluice_set_number(handle, CURLOPT_NOPROGRESS, 0)
        sluice_set_progress(handle) { context, _, _, _, sent in
            let exchange = Exchange.at(context)
            exchange.note(sent: Int64(sent))
            return exchange.isStopped?() == true ? 1 : 0
        }
        sluice_set_pointer(handle, CURLOPT_XFERINFODATA, context)
        sluice_set_open_socket(handle) { context, _, address in
            guard let address else { return CURL_SOCKET_BAD }
            return Exchange.at(context).open(address)
        }
        sluice_set_pointer(handle, CURLOPT_OPENSOCKETDATA, context)
        setBody(request, context)

        // Without an empty one, libcurl would first ask whether a long body is welcome.
        var lines = curl_slist_append(nil, "Expect:")
        for header in request.headers { lines = curl_slist_append(lines, "\(header.name): \(header.value)") }
        sluice_set_pointer(handle, CURLOPT_HTTPHEADER, lines)
        return lines
    }

    private func setBody(_ request: WebRequest, _ context: UnsafeMutableRawPointer) {
        switch request.body {
        case .none:
            sluice_set_number(handle, request.method == "HEAD" ? CURLOPT_NOBODY : CURLOPT_HTTPGET, 1)
            if request.method == "POST" {
                sluice_set_number(handle, CURLOPT_POST, 1)
                sluice_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, 0)
            }
        case .bytes(let bytes):
            sluice_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count))
            // Copied by libcurl, as far as the size says that was set before.
            bytes.withUnsafeBufferPointer { bytes in
                let text = UnsafeRawPointer(bytes.baseAddress ?? UnsafePointer(bitPattern: 1))
                sluice_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, text)
            }
        case .file(_, let length):
            sluice_set_number(handle, CURLOPT_UPLOAD, 1)
            sluice_set_size(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(length))
            sluice_set_read(handle) { bytes, size, count, context in
                Exchange.at(context).give(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
            }
            sluice_set_pointer(handle, CURLOPT_READDATA, context)
            sluice_set_seek(handle) { context, place, origin in
                Exchange.at(context).seek(to: place, from: origin)
            }
            sluice_set_pointer(handle, CURLOPT_SEEKDATA, context)
        }
        sluice_set_text(handle, CURLOPT_CUSTOMREQUEST, request.method)
    }
}

extension WebRequest {
    /// A control character could end the line, so that the rest of the text is read as another header.
    fileprivate func validate() throws(WebError) {
        let isMethod =
            !method.isEmpty && method.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        guard isMethod else { throw WebError(.badRequest, "the method is not a word of capital letters") }
        for text in [url, unixSocket ?? "", authorities ?? ""] + headers.flatMap({ [$0.name, $0.value] }) {
            guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
                throw WebError(.badRequest, "the URL or a header contains a control character")
            }
        }
        guard headers.allSatisfy({ !$0.name.isEmpty && !$0.name.contains(where: { " :".contains($0) }) }) else {
            throw WebError(.badRequest, "the name of a header is not one word")
        }
    }
}
