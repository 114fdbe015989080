import Foundation

/// Searches the memory of another process.
package enum ProcessMemoryFacts {
    package static func parent(of process: Int32) -> Int32? {
        // `try?`: a process that has ended has no parent.
        let text = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
        return text?.split(separator: "\n").first { $0.hasPrefix("PPid:") }?.split(separator: "\t").last.flatMap {
            Int32($0)
        }
    }

    /// How often `text` occurs, and how many bytes could be read.
    package static func count(of text: String, in process: Int32) throws -> (hits: Int, bytes: Int) {
        try count(of: Array(text.utf8), in: process)
    }

    /// The same for `word`, which is found faster if its first byte is rare. With `onlyWritable`, not in what the process
    /// may only read, such as its program.
    package static func count(
        of word: [UInt8],
        in process: Int32,
        onlyWritable: Bool = false
    ) throws -> (hits: Int, bytes: Int) {
        let maps = String(decoding: try whole("/proc/\(process)/maps"), as: UTF8.self)
        let file = open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw SupportError("open the memory of \(process)", errno: errno) }
        defer { close(file) }
        var (hits, bytes) = (0, 0)
        for line in maps.split(separator: "\n") {
            let words = line.split(separator: " ")
            let ends = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            // The kernel's own page cannot be read this way, and reserved regions hold nothing.
            guard ends.count == 2, words[1].hasPrefix(onlyWritable ? "rw" : "r"), !line.hasSuffix("[vsyscall]") else {
                continue
            }
            var piece = [UInt8](repeating: 0, count: Int(ends[1] - ends[0]))
            let got = pread(file, &piece, piece.count, off_t(Int64(bitPattern: ends[0])))
            guard got > 0 else { continue }
            bytes += got
            hits += piece.withUnsafeBytes {
                count(of: word, in: UnsafeRawBufferPointer(rebasing: $0[..<got]))
            }
        }
        return (hits, bytes)
    }

    /// The whole content of a /proc file, which has no size and is delivered a page at a time.
    package static func whole(_ path: String) throws -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw SupportError("open \(path)", errno: errno) }
        defer { close(file) }
        var (bytes, piece) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 16))
        while case let got = read(file, &piece, piece.count), got > 0 { bytes += piece[..<got] }
        return bytes
    }

    private static func count(of word: [UInt8], in memory: UnsafeRawBufferPointer) -> Int {
        var (found, place) = (0, 0)
        while place + word.count <= memory.count,
            let hit = memchr(memory.baseAddress! + place, Int32(word[0]), memory.count - word.count + 1 - place)
        {
            place = memory.baseAddress!.distance(to: UnsafeRawPointer(hit))
            if memcmp(hit, word, word.count) == 0 { found += 1 }
            place += 1
        }
        return found
    }
}
