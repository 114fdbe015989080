import Storage

extension SourceFile {
    /// Opens the source that a command-line word names. `-` is standard input; pipes and devices are allowed.
    static func opening(word: String) throws(StorageError) -> SourceFile {
        word == "-"
            ? try standardInput() : try open(word, allowing: [.file, .pipe, .characterDevice, .blockDevice])
    }
}
