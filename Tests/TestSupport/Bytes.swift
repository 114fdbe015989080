import CSystem
import Glibc

/// Small helpers for the bytes of files: read, damage, search.
public enum Bytes {
    /// The whole file at `path`.
    public static func read(_ path: String) throws -> [UInt8] {
        let file = try OpenFile.reading(path)
        var facts = stat()
        guard fstat(file.descriptor, &facts) == 0 else { throw SupportError("stat \(path)", errno: errno) }
        let size = Int(facts.st_size)
        return try [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size {
                let got = Glibc.read(file.descriptor, buffer.baseAddress.map { $0 + count }, size - count)
                if got < 0, errno == EINTR { continue }
                guard got >= 0 else { throw SupportError("read \(path)", errno: errno) }
                if got == 0 { break }
                count += got
            }
        }
    }

    /// Writes `bytes` as the whole file at `path`, replacing any file there.
    public static func write(_ bytes: [UInt8], to path: String) throws {
        let file = try OpenFile.creating(path)
        try write(bytes, to: file.descriptor, at: 0, path: path)
    }

    /// Overwrites the file from `offset` on; the file grows if the bytes reach past its end.
    public static func overwrite(_ path: String, at offset: Int, with bytes: [UInt8]) throws {
        let file = try OpenFile.changing(path)
        try write(bytes, to: file.descriptor, at: offset, path: path)
    }

    /// Flips one bit in about the fraction `rate` of the bytes from `start` on, and returns how many bits it flipped.
    @discardableResult
    public static func corrupt(_ path: String, seed: UInt64, rate: Double, from start: Int = 0) throws -> Int {
        var bytes = try read(path)
        guard start >= 0, start < bytes.count else {
            throw SupportError("corrupt \(path)", "there is no byte \(start) in \(bytes.count)")
        }
        let flipped = flipBits(in: &bytes, seed: seed, rate: rate, from: start)
        try write(bytes, to: path)
        return flipped
    }

    /// Flips one bit in about the fraction `rate` of the bytes from `start` on, and returns how many bits it flipped.
    @discardableResult
    public static func flipBits(in bytes: inout [UInt8], seed: UInt64, rate: Double, from start: Int = 0) -> Int {
        var generator = SeededGenerator(seed: seed)
        var flipped = 0
        bytes.withUnsafeMutableBufferPointer { bytes in
            var index = start
            while index < bytes.count {
                if generator.unit() < rate {
                    bytes[index] ^= 1 << UInt8(generator.next() & 7)
                    flipped += 1
                }
                index &+= 1
            }
        }
        return flipped
    }

    /// Cuts the file to a fraction of its length and returns the new length.
    @discardableResult
    public static func truncate(_ path: String, toFraction fraction: Double) throws -> Int {
        let length = Int(Double(try size(of: path)) * fraction)
        try truncate(path, to: length)
        return length
    }

    /// Cuts the file to `length` bytes.
    public static func truncate(_ path: String, to length: Int) throws {
        guard Glibc.truncate(path, length) == 0 else { throw SupportError("truncate \(path)", errno: errno) }
    }

    /// The length of the file in bytes.
    public static func size(of path: String) throws -> Int {
        var facts = stat()
        guard stat(path, &facts) == 0 else { throw SupportError("stat \(path)", errno: errno) }
        return Int(facts.st_size)
    }

    /// The offset of the first `pattern` at or after `start`, or `nil`.
    public static func find(_ pattern: [UInt8], in bytes: [UInt8], from start: Int = 0) -> Int? {
        guard !pattern.isEmpty, start >= 0, start < bytes.count else { return nil }
        return bytes.withUnsafeBytes { haystack in
            pattern.withUnsafeBytes { needle in
                guard let base = haystack.baseAddress, let wanted = needle.baseAddress else { return nil }
                let last = haystack.count - needle.count
                var offset = start
                while offset <= last, let hit = memchr(base + offset, Int32(needle[0]), last - offset + 1) {
                    offset = UnsafeRawPointer(hit) - base
                    if memcmp(hit, wanted, needle.count) == 0 { return offset }
                    offset += 1
                }
                return nil
            }
        }
    }

    /// The offset of the first UTF-8 `text` at or after `start`, or `nil`.
    public static func find(_ text: String, in bytes: [UInt8], from start: Int = 0) -> Int? {
        find(Array(text.utf8), in: bytes, from: start)
    }

    /// The little-endian number at `offset`.
    public static func little<Number: FixedWidthInteger>(
        _ type: Number.Type,
        in bytes: [UInt8],
        at offset: Int
    ) throws -> Number {
        Number(littleEndian: try native(type, in: bytes, at: offset))
    }

    /// The big-endian number at `offset`.
    public static func big<Number: FixedWidthInteger>(
        _ type: Number.Type,
        in bytes: [UInt8],
        at offset: Int
    ) throws -> Number {
        Number(bigEndian: try native(type, in: bytes, at: offset))
    }

    /// A hex dump for failure messages: sixteen bytes a line, with offset, hexadecimal digits and letters.
    public static func hexDump(_ bytes: [UInt8], from start: Int = 0, count: Int = 128) -> String {
        let end = min(bytes.count, start + count)
        guard start >= 0, start < end else { return "(no bytes at \(start), there are \(bytes.count))" }
        return stride(from: start, to: end, by: 16).map { line in
            let row = bytes[line..<min(line + 16, end)]
            let digits = row.map { hex(Int($0), digits: 2) }.joined(separator: " ")
            let letters = String(decoding: row.map { (0x20..<0x7F).contains($0) ? $0 : 0x2E }, as: UTF8.self)
            let gap = String(repeating: " ", count: 48 - digits.count)
            return "\(hex(line, digits: 8))  \(digits)\(gap) \(letters)"
        }.joined(separator: "\n")
    }

    /// The bytes with each group of `width` reversed: little-endian to big-endian or back.
    public static func swapped(_ bytes: [UInt8], width: Int) -> [UInt8] {
        guard width > 1 else { return bytes }
        let count = bytes.count / width * width
        return [UInt8](unsafeUninitializedCapacity: count) { out, initialized in
            bytes.withUnsafeBufferPointer { input in
                var group = 0
                while group < count {
                    var place = 0
                    while place < width {
                        out[group &+ place] = input[group &+ width &- 1 &- place]
                        place &+= 1
                    }
                    group &+= width
                }
            }
            initialized = count
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32, at offset: Int, path: String) throws {
        try bytes.withUnsafeBytes { raw in
            var done = 0
            while done < raw.count {
                let wrote = pwrite(descriptor, raw.baseAddress.map { $0 + done }, raw.count - done, offset + done)
                if wrote < 0, errno == EINTR { continue }
                guard wrote >= 0 else { throw SupportError("write \(path)", errno: errno) }
                done += wrote
            }
        }
    }

    private static func native<Number: FixedWidthInteger>(
        _ type: Number.Type,
        in bytes: [UInt8],
        at offset: Int
    ) throws -> Number {
        let width = MemoryLayout<Number>.size
        guard offset >= 0, offset <= bytes.count - width else {
            throw SupportError("read \(width) bytes at \(offset)", "there are only \(bytes.count)")
        }
        return bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: type) }
    }

    private static func hex(_ number: Int, digits: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }
}

extension [UInt8] {
    public mutating func append<Number: FixedWidthInteger>(little number: Number) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    public mutating func append<Number: FixedWidthInteger>(big number: Number) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}
