import CCurl
import Glibc

/// What libcurl's callbacks work on during one request. All of them run in the thread of the request.
final class Exchange {
    private let request: WebRequest
    private let isTaken: Bool
    private(set) var headers: [WebRequest.Header] = []
    private(set) var body: [UInt8] = []
    /// Set for the time of the exchange.
    var isStopped: (() -> Bool)?
    var take: ((UnsafeRawBufferPointer) -> Bool)?
    var begin: ((WebAnswer) -> Bool)?
    var report: ((Int64) -> Void)?

    private var status = 0
    /// Whether the status and all header lines of the final answer are there.
    private(set) var hasHeader = false
    /// Whether the body goes to the caller piece by piece.
    var isGivenAway: Bool { isTaken && (200..<300).contains(status) }
    private var headerBytes = 0
    private var sent: Int64 = 0
    private var isTooLong = false
    private var hasEnough = false
    /// Whether the exchange was ended because the rest of the body does not count.
    private(set) var hasAllItWants = false
    private var isCut = false
    private var refused: NetworkAddress?
    private static let headerLimit = 64 << 10

    init(_ request: WebRequest, isTaken: Bool) {
        self.request = request
        self.isTaken = isTaken
    }

    static func at(_ context: UnsafeMutableRawPointer?) -> Exchange {
        guard let context else { preconditionFailure("every callback has its exchange") }
        return Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
    }

    /// Returns the number of bytes that were taken; another number than theirs ends the exchange.
    func takeHeader(_ bytes: UnsafeRawBufferPointer) -> Int {
        headerBytes += bytes.count
        guard headerBytes <= Self.headerLimit else {
            isTooLong = true
            return 0
        }
        let line = String(decoding: bytes, as: UTF8.self)
        if line.hasPrefix("HTTP/") {
            // The answer itself may follow one that says to continue.
            headers = []
            hasHeader = false
            let words = line.split(whereSeparator: \.isWhitespace)
            status = words.count > 1 ? Int(words[1]) ?? 0 : 0
        } else if hasHeader {
            // A trailer behind the body. It must not pass for a header: those were judged before the body came.
            return bytes.count
        } else if let colon = line.firstIndex(of: ":") {
            let value = line[line.index(after: colon)...]
            headers.append(WebRequest.Header(Self.trimmed(line[..<colon]), Self.trimmed(value)))
        } else if line.allSatisfy(\.isNewline) {
            hasHeader = status >= 200
            if let begin, isGivenAway {
                hasEnough = !begin(WebAnswer(status: status, headers: headers, body: []))
                if hasEnough { return 0 }
            }
        }
        return bytes.count
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }

    /// As `takeHeader`.
    func takeBody(_ bytes: UnsafeRawBufferPointer) -> Int {
        if let take, isGivenAway {
            hasEnough = !take(bytes)
            return hasEnough ? 0 : bytes.count
        }
        guard body.count + bytes.count <= request.answerLimit else {
            if request.takesCutAnswers { hasAllItWants = true } else { isTooLong = true }
            return 0
        }
        body.append(contentsOf: bytes)
        return bytes.count
    }

    /// Reads the next bytes of the file that is sent.
    func give(_ room: UnsafeMutableRawBufferPointer) -> Int {
        guard case .file(let descriptor, let length) = request.body else { return 0 }
        let wanted = min(Int64(room.count), length - sent)
        while true {
            let count = pread(descriptor, room.baseAddress, Int(wanted), off_t(sent))
            if count < 0, errno == EINTR { continue }
            guard count > 0 || wanted == 0 else {
                isCut = true
                return Int(CURL_READFUNC_ABORT)
            }
            sent += Int64(count)
            return count
        }
    }

    /// How many bytes of the body have been sent.
    func note(sent: Int64) { report?(sent) }

    /// libcurl begins again if a kept connection turns out to be dead.
    func seek(to place: curl_off_t, from origin: CInt) -> CInt {
        guard origin == SEEK_SET else { return CURL_SEEKFUNC_CANTSEEK }
        sent = Int64(place)
        return CURL_SEEKFUNC_OK
    }

    /// Opens a socket for an address that the request may connect to.
    func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        guard let place = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return CURL_SOCKET_BAD }
        let socketAddress = UnsafeRawPointer(address).advanced(by: place).assumingMemoryBound(to: sockaddr.self)
        if request.unixSocket == nil {
            guard let found = NetworkAddress(socketAddress), request.addresses.permits(found) else {
                refused = NetworkAddress(socketAddress)
                return CURL_SOCKET_BAD
            }
        }
        let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
        return socket(address.pointee.family, type, address.pointee.protocol)
    }

    func error(_ code: CURLcode, _ request: WebRequest) -> WebError {
        let text = String(cString: curl_easy_strerror(code))
        if isTooLong { return WebError(.answerTooLong, "the answer is longer than \(request.answerLimit) bytes") }
        if isCut { return WebError(.broken, "the file that is sent has become shorter, or cannot be read") }
        if hasEnough { return WebError(.stopped, "the rest of the answer was not wanted") }
        switch code {
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
            return WebError(.badRequest, "the URL is not one of http or https")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            return WebError(.cannotResolve, "the host's name has no address")
        case CURLE_COULDNT_CONNECT:
            if let refused { return WebError(.forbiddenAddress, "its address \(refused) is not one of the internet") }
            return WebError(.cannotConnect, "nothing answers at that address")
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE:
            return WebError(.cannotSecure, "no secure connection: \(text)")
        case CURLE_OPERATION_TIMEDOUT: return WebError(.timedOut, "no answer in time")
        case CURLE_ABORTED_BY_CALLBACK: return WebError(.stopped, "stopped")
        default: return WebError(.broken, "the connection broke: \(text)")
        }
    }
}
