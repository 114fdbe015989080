import Testing

struct FileLengthTests {
    @Test(arguments: ["Sources", "Tests", "Demo", "Benches"])
    func noSwiftFileIsLongerThanTheLimit(folder: String) throws {
        let files = try SourceTree().swiftFiles(in: folder)
        #expect(!files.isEmpty)
        for file in files where lineCount(of: file.text) > longestFile {
            Issue.record("\(file.path) has \(lineCount(of: file.text)) lines, more than \(longestFile): two nouns?")
        }
    }

    @Test(arguments: [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n\n", 2), ("a\r\nb\r\n", 2)])
    func linesAreCountedAsAnEditorCountsThem(text: String, count: Int) {
        #expect(lineCount(of: text) == count)
    }
}

/// A file with more lines usually holds two nouns.
private let longestFile = 500

/// The number of lines of `text`. The last line counts with or without its line feed.
private func lineCount(of text: String) -> Int {
    let bytes = text.utf8
    let feeds = bytes.reduce(0) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
    return bytes.isEmpty || bytes.last == UInt8(ascii: "\n") ? feeds : feeds + 1
}
