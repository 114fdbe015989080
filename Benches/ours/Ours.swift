import BenchNames
import Glibc
import Media

/// Converts with Media, in one process and on one thread, and prints one line of JSON for `bench`.
///
///     bench-ours FORMAT OUTDIR FILE...    converts the files one after another
///     bench-ours FORMAT OUTDIR -          converts standard input
///     bench-ours FORMAT OUTDIR FILE xN    converts the file N times
///
/// The counterpart of the floor program. It is a separate program so that its memory holds only what a user of Media
/// would link.
@main
enum Ours {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        ProcessMemory.prepareForManyConversions()
        do {
            guard words.count >= 3, let target = TargetFormat(rawValue: words[0]) else {
                throw Problem("usage: bench-ours FORMAT OUTDIR FILE... | - | FILE xN")
            }
            var list = ConversionList(target, folder: words[1])
            if words[2] == "-" {
                try list.convertStandardInput()
            } else if words.count == 4, words[3].hasPrefix("x"), let count = Int(words[3].dropFirst()) {
                try list.convert(words[2], times: count)
            } else {
                try list.convert(Array(words[2...]))
            }
            print(list.figures.line)
        } catch {
            let words = Array("bench-ours: \(error)\n".utf8)
            write(STDERR_FILENO, words, words.count)
            exit(1)
        }
    }
}

/// An error message for the user.
struct Problem: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
