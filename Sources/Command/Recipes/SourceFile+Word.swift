import Storage

extension SourceFile {
    /// The source that a word on the command line names: `-` is standard input, and pipes and devices are welcome.
    static func opening(word: String) throws(StorageError) -> SourceFile {
        word == "-"
            ? try standardInput() : try open(word, allowing: [.file, .pipe, .characterDevice, .blockDevice])
    }
}
