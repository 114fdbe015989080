import Console
import ObjectStorage
import Worker

/// A root on a web server. Commands take its files as they are written, because web servers list nothing, and this machine
/// may not reach what the workers reach.
struct SourceWebServer: Sendable {
    let name: String
    let address: WebAddress

    /// For the help of commands that find sources.
    static let discussion =
        "A root may be on a web server, https://HOST/PATH, whose files the workers read. The command does not ask the server: "
        + "it takes a file ROOT:PATH as it is written, and refuses folders."

    /// Throws for an address that no web server can have, and for rules that forbid reading.
    init(_ place: WorkerConfiguration.RootPlace) throws(UsageError) {
        try place.checkAsSource()
        (name, address) = (place.name, try ObjectPlaces.address(of: place))
    }

    /// The address, as in `--root`.
    var text: String { address.text }

    /// The refusal of a folder, `word`, whose files nothing lists.
    static func folder(_ word: String) -> UsageError {
        UsageError(
            "\(word) cannot be listed: web servers do not say which files they have".printable,
            hint: "--files-from FILE lists its files; a single file needs no -r"
        )
    }
}
