import Conversion

extension FieldTemplate {
    /// Parses the root and the template of the path, as in `example`. Throws `invalid_template` with the reason.
    static func parse(_ text: String, example: String) throws(StorageError) -> (root: String, path: Self) {
        // Scalars, as in a location: a combining mark does not hide the colon before it.
        let scalars = text.unicodeScalars
        guard let colon = scalars.firstIndex(of: ":") else {
            throw .template("the name of a root and a colon are missing, as in \(example)", text)
        }
        let root = String(scalars[..<colon])
        if let problem = Location.problem(ofRootName: root) { throw .template(problem, text) }
        do throws(Mistake) {
            return (root, try Self(parsing: String(scalars[scalars.index(after: colon)...])))
        } catch {
            throw .template(error.detail, text)
        }
    }
}

extension StorageError {
    /// Something is wrong with the template `text`, or with a destination that it makes.
    static func template(_ detail: String, _ text: String) -> StorageError {
        StorageError(.invalidTemplate, at: .open, "use the template", detail, place: text)
    }
}
