import API
import Console
import Conversion
import HTTPServer
import Ledger
import LocalCluster
import Page
import Storage
import Worker

/// The options of the coordinator's HTTP API.
enum APIOptions {
    private static let listen = Option<String>(
        "listen",
        .text.named("ADDRESS"),
        "serve the HTTP API at a port, an address and port, a socket's path, or systemd",
        isRepeatable: true,
        in: .work
    )
    private static let openRole = Option<AccessRole>(
        "open-role",
        .role,
        "serve requests without a token in this role; only on this machine",
        in: .work
    )
    private static let host = Option<String>(
        "host",
        .text.named("NAME"),
        "a name that browsers use for the HTTP API, besides localhost",
        isRepeatable: true,
        in: .work
    )
    private static let insecure = Switch(
        "insecure-http",
        "listen where other machines can connect, though tokens then pass in clear text",
        in: .work
    )

    private static let uploads = Option<String>(
        "uploads",
        .text.named("NAME"),
        "programs may send files into this root, which --root names",
        isRepeatable: true,
        in: .work
    )
    private static let mostUpload = Option<ByteSize>(
        "max-upload",
        .size("1KiB", "16TiB"),
        "the largest file that programs may send; 4GiB is usual",
        in: .work
    )
    private static let downloads = Option<String>(
        "downloads",
        .text.named("NAME"),
        "programs may get the outputs of jobs in this root, which --root names",
        isRepeatable: true,
        in: .work
    )

    private static let excerpts = Option<String>(
        "excerpts",
        .text.named("NAME"),
        "people hear sources and outputs by excerpts that workers make in this root",
        in: .work
    )

    private static let pageName = Option<String>(
        "page-name",
        .text.named("NAME"),
        "the name of this cluster on the page for browsers; the host's is usual",
        in: .work
    )
    private static let pageColour = Option<ClusterColour>(
        "page-color",
        .choice("COLOR"),
        "the colour of this cluster on the page for browsers",
        in: .work
    )

    static let forms = [
        listen.form, openRole.form, host.form, insecure.form, uploads.form, mostUpload.form, downloads.form,
        excerpts.form, pageName.form, pageColour.form,
    ]

    /// Listens where --listen says; `nil` without it. `places` are the roots of this coordinator; `complain` gets what goes
    /// wrong later.
    static func open(
        _ invocation: Invocation,
        _ places: [WorkerConfiguration.RootPlace],
        complain: @escaping @Sendable (Failure) -> Void
    ) throws -> APIServer? {
        let addresses = invocation.all(listen)
        guard !addresses.isEmpty else {
            guard invocation[openRole] == nil else {
                throw UsageError("--open-role needs --listen", hint: "as in --listen 8080")
            }
            for option in [host, uploads, downloads, excerpts, pageName] where invocation[option] != nil {
                throw UsageError("--\(option.form.name) needs --listen", hint: "as in --listen 8080")
            }
            guard invocation[pageColour] == nil else {
                throw UsageError("--page-color needs --listen", hint: "as in --listen 8080")
            }
            return nil
        }
        var configuration = APIServer.Configuration(addresses: addresses)
        configuration.openRole = invocation[openRole]
        configuration.hosts = invocation.all(host)
        configuration.allowsInsecure = invocation[insecure]
        configuration.version = Version.number
        configuration.libavcodec = Version.codecLibrary
        configuration.pages = try CoordinatorPages(
            version: Version.number,
            name: shownName(invocation),
            colour: invocation[pageColour],
            excerptRoot: invocation[excerpts]
        )
        configuration.uploads = try named(by: uploads, invocation, among: places)
        configuration.downloads = try named(by: downloads, invocation, among: places)
        configuration.sources = places.filter(\.rules.mayRead).map { place in
            APIServer.RootPlace(name: place.name, path: place.path, rules: place.rules)
        }
        let links = PageLinks(environment: invocation.environment)
        if let links {
            configuration.redeemsLink = { links.redeem($0) }
            // Its owner may read them anyway.
            configuration.downloads = configuration.sources
        }
        // Excerpts are outputs like others.
        let served = Set(configuration.downloads.map(\.name))
        let further = try named(by: excerpts, invocation, among: places)
        configuration.downloads += further.filter { !served.contains($0.name) }
        // Who may only read them leaves their removal to others.
        configuration.excerptRoot = further.first { $0.rules.mayWrite }?.name
        if let size = invocation[mostUpload] { configuration.mostUploadBytes = size.bytes }
        do {
            let server = try APIServer(
                LedgerOptions.configuration(invocation),
                configuration,
                environment: invocation.environment,
                complain: complain
            )
            if let links, let address = server.addresses.first(where: { $0.hasPrefix("127.") }) {
                try links.announce("http://\(address)")
            }
            return server
        } catch let error as ListenError {
            throw Refusal(message: error.description.printable, exitCode: .configuration)
        }
    }

    /// The name on the page, which has space for some words.
    private static func shownName(_ invocation: Invocation) throws -> String? {
        guard let name = invocation[pageName] else { return nil }
        guard (1...mostNameLength).contains(name.unicodeScalars.count) else {
            throw UsageError("--page-name must have 1 to \(mostNameLength) characters")
        }
        return name
    }

    private static let mostNameLength = 60

    /// The roots that an option names.
    private static func named(
        by option: Option<String>,
        _ invocation: Invocation,
        among places: [WorkerConfiguration.RootPlace]
    ) throws -> [APIServer.RootPlace] {
        var found: [APIServer.RootPlace] = []
        for name in invocation.all(option) where !found.contains(where: { $0.name == name }) {
            guard let place = places.first(where: { $0.name == name }) else {
                throw UsageError(
                    "--\(option.form.name) names the root \"\(name.printable)\", which no --root has",
                    hint: "as in --root \(name.printable)=/srv/\(name.printable)"
                )
            }
            let (mayRead, mayWrite) = (place.rules.mayRead, place.rules.mayWrite)
            guard option.form.name == uploads.form.name ? mayWrite : mayRead else {
                throw UsageError("the rules of the root \(name) forbid --\(option.form.name)")
            }
            found.append(APIServer.RootPlace(name: place.name, path: place.path, rules: place.rules))
        }
        return found
    }
}

extension ValueType where Value == AccessRole {
    static let role = ValueType(
        placeholder: "ROLE",
        completion: .words(AccessRole.allCases.map { .init(word: $0.rawValue, summary: "") })
    ) { text throws(Misfit) in
        guard let role = AccessRole(rawValue: text) else {
            throw Misfit(why: "must be viewer, submitter or operator")
        }
        return role
    }
}
