import Conversion
import Glibc
import Media
import TestSupport

/// Converts one file, for tests that another process writes the same bytes, and for tests with limits on file size and
/// memory.
enum MediaConversion {
    static func run(_ arguments: [String]) throws {
        var words = arguments
        if words.count > 1, words[0] == "--address-space", let kilobytes = UInt(words[1]) {
            words.removeFirst(2)
            try limitAddressSpace(kilobytes)
        }
        guard words.count >= 4, let container = Container(rawValue: words[2]), let codec = Codec(rawValue: words[3])
        else {
            print(
                """
                usage: media-program convert [--address-space KILOBYTES] SOURCE DESTINATION CONTAINER CODEC \
                [NAME=TEXT ...]
                """
            )
            exit(64)
        }
        let tags = words.dropFirst(4).map { word in
            let parts = word.split(separator: "=", maxSplits: 1).map { String($0) }
            return (parts[0], Recipe.TagValues(parts.count > 1 ? parts[1] : ""))
        }
        do {
            let source = try OpenFile.reading(words[0])
            let destination = try OpenFile.creating(words[1])
            let request = Converter.Request(
                format: AudioFormat(container: container, codec: codec),
                tags: Dictionary(tags) { $1 },
                nameHint: words[0]
            )
            let outcome = try Converter(request).run(from: source.descriptor, to: destination.descriptor)
            print(outcome.summary.bytes)
            try reportPeakMemory()
        } catch let error as MediaError {
            print(error.code.rawValue)
            let said = Array("\(error.code.rawValue) \(error.stage.rawValue) \(error.detail)\n".utf8)
            _ = write(2, said, said.count)
            exit(1)
        }
    }

    /// Limits the address space to the pages that the process has by now, plus `kilobytes`.
    private static func limitAddressSpace(_ kilobytes: UInt) throws {
        let facts = try OpenFile.reading("/proc/self/statm")
        var text = [UInt8](repeating: 0, count: 128)
        let count = max(0, read(facts.descriptor, &text, text.count))
        let pages = UInt(String(decoding: text.prefix(count), as: UTF8.self).prefix { $0 != " " }) ?? 0
        let bytes = pages * UInt(sysconf(Int32(_SC_PAGESIZE))) + kilobytes * 1024
        var limit = rlimit(rlim_cur: bytes, rlim_max: bytes)
        setrlimit(__rlimit_resource_t(9 /* RLIMIT_AS */), &limit)
    }

    /// Prints the peak memory, for tests that it does not grow with the length of a source.
    private static func reportPeakMemory() throws {
        let facts = try OpenFile.reading("/proc/self/status")
        var text = [UInt8](repeating: 0, count: 8192)
        let count = max(0, read(facts.descriptor, &text, text.count))
        let lines = String(decoding: text.prefix(count), as: UTF8.self).split(separator: "\n")
        if let peak = lines.first(where: { $0.hasPrefix("VmHWM:") }) {
            let said = Array("peak-kilobytes \(peak.filter { ("0"..."9").contains($0) })\n".utf8)
            _ = write(2, said, said.count)
        }
    }
}
