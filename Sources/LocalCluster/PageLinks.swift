import Conversion
import FoundationEssentials
import Glibc
import Hashing

/// One-time links to the page of the private cluster: files in a folder into which only its user can look.
///
/// The file of a link is named by the SHA-256 of the link's secret, and is a page that leads a browser to the link. So the
/// arguments of the browser, which all users of the machine can read, name a file and not the secret. The coordinator
/// removes the file when the link is followed, which succeeds once.
package struct PageLinks: Sendable {
    let folder: String

    /// A link that was made.
    package struct Link: Sendable {
        package let url: String
        /// A page that leads a browser to it.
        package let file: String
    }

    /// Where the coordinator serves the page, and which process that is.
    private struct Address: Codable {
        let url: String
        let process: ProcessIdentity
    }

    /// The variable that tells the coordinator the folder.
    static let variable = "SLUICE_PAGE_LINKS"
    /// How long a link works, in seconds.
    static let life = 300
    private static let secretBytes = 32

    init(folder: String) { self.folder = folder }

    /// The links of the cluster whose coordinator this process is; `nil` unless its supervisor named them.
    package init?(environment: [String: String]) {
        guard let folder = environment[Self.variable], folder.hasPrefix("/") else { return nil }
        self.init(folder: folder)
    }

    // MARK: - Where the page is

    private var addressFile: String { folder + "/address.json" }

    /// Records that this process serves the page at `url`, without a slash at its end.
    package func announce(_ url: String) throws(ClusterError) {
        guard let process = ProcessIdentity(of: getpid()) else { throw ClusterError(ESRCH, "identify this process") }
        try JSONFile.write(Address(url: url, process: process), to: addressFile)
    }

    /// Forgets where the page was.
    func withdraw() { unlink(addressFile) }

    /// The URL of the page; `nil` if no running process serves it.
    package var url: String? {
        guard let address = JSONFile.read(Address.self, addressFile), address.process.isAlive else { return nil }
        return address.url
    }

    // MARK: - Links

    /// Makes a link to the page at `url`. Removes those that were not followed in time.
    package func make(to url: String) throws(ClusterError) -> Link {
        removeOld()
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<Self.secretBytes).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let secret = Self.hexadecimal(bytes)
        let link = Link(url: "\(url)/login?link=\(secret)", file: file(of: secret))
        let page: HTML = """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer">\
            <meta http-equiv="refresh" content="0;url=\(link.url)"><title>Sluice</title></head>
            <body><p><a href="\(link.url)">Continue to Sluice</a></p></body></html>

            """
        let written = open(link.file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard written >= 0 else { throw ClusterError(errno, "write \(link.file)") }
        defer { close(written) }
        let text = Array(page.text.utf8)
        guard write(written, text, text.count) == text.count else { throw ClusterError(errno, "write \(link.file)") }
        return link
    }

    /// Whether the secret is that of a link that has not been followed yet, and which is not too old at the time `now`.
    package func redeem(_ secret: String, now: Int = time(nil)) -> Bool {
        guard secret.utf8.count == 2 * Self.secretBytes else { return false }
        let path = file(of: secret)
        // Of several who follow one link, one removes its file.
        guard let age = age(of: path, now), unlink(path) == 0 else { return false }
        // A clock may have been set back a little meanwhile.
        return abs(age) <= Self.life
    }

    private func removeOld() {
        let now = time(nil)
        for name in PostgresPrograms.names(in: folder) where name.hasSuffix(Self.suffix) {
            let path = "\(folder)/\(name)"
            if let age = age(of: path, now), age > Self.life { unlink(path) }
        }
    }

    /// The seconds since a file of this user was written; `nil` if there is none.
    private func age(of path: String, _ now: Int) -> Int? {
        var facts = stat()
        guard lstat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG, facts.st_uid == geteuid() else { return nil }
        return now - facts.st_mtim.tv_sec
    }

    private static let suffix = ".html"

    private func file(of secret: String) -> String {
        "\(folder)/\(Self.hexadecimal(SHA256Hash.digest(of: Array(secret.utf8))))\(Self.suffix)"
    }

    private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
