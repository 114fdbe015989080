package import ObjectStorage

/// A root that is a folder of a web server.
package struct WebRoot: Sendable {
    package let name: String
    package let address: WebAddress
    let server: WebServer
    /// For the question whether the server answers, which is asked again and again.
    private let checker: WebServer

    package init(name: String, address: WebAddress) {
        (self.name, self.address) = (name, address)
        server = WebServer(address, patience: BucketRoot.patience)
        checker = WebServer(address, patience: BucketRoot.impatience)
    }

    /// Why no file of the root can be read now; `nil` if the server answers. Blocks.
    func problem() -> ObjectRootProblem? {
        checker.problem().map {
            ObjectRootProblem($0, of: name, "use the web server", isMistake: $0.kind == .refused)
        }
    }

    /// What the user can do about `error` of a job.
    func hint(_ error: StoreError) -> String? {
        guard error.kind == .accessDenied else { return error.hint }
        return "have the server permit the file without a login: web servers are read without credentials"
    }
}
