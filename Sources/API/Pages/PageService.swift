package import HTTPServer

/// Answers requests of browsers, at the paths that the API does not use.
package protocol PageService: Sendable {
    /// Called on the server's thread: must not wait. `nil`: there is nothing at this path.
    func receive(_ head: RequestHead, _ access: PageAccess) -> Reception?
}
