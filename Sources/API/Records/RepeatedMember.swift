import Conversion

/// Finds what an object of some JSON names twice. Decoders keep one of the two values, and do not say which.
package enum RepeatedMember {
    /// The JSON pointer of the first member whose name its object has already; `nil` if there is none. `json` must be
    /// valid JSON.
    package static func pointer(in json: some Collection<UInt8>) -> String? {
        var scanner = Scanner(bytes: Array(json))
        return scanner.value(at: "")
    }

    private struct Scanner {
        let bytes: [UInt8]
        var place = 0

        /// Reads one value, which is at `pointer`.
        mutating func value(at pointer: String) -> String? {
            skipSpace()
            switch byte {
            case UInt8(ascii: "{"): return object(at: pointer)
            case UInt8(ascii: "["): return list(at: pointer)
            case UInt8(ascii: "\""): _ = text()
            default: while let byte, !",]}".utf8.contains(byte) { place += 1 }
            }
            return nil
        }

        private mutating func object(at pointer: String) -> String? {
            var names: Set<String> = []
            place += 1
            skipSpace()
            while byte == UInt8(ascii: "\"") {
                let name = text()
                let own = "\(pointer)/\(name.replacing("~", with: "~0").replacing("/", with: "~1"))"
                guard names.insert(name).inserted else { return own }
                skipSpace()
                place += 1  // the colon
                if let found = value(at: own) { return found }
                skip(UInt8(ascii: ","))
            }
            place += 1
            return nil
        }

        private mutating func list(at pointer: String) -> String? {
            var count = 0
            place += 1
            skipSpace()
            while let byte, byte != UInt8(ascii: "]") {
                if let found = value(at: "\(pointer)/\(count)") { return found }
                count += 1
                skip(UInt8(ascii: ","))
            }
            place += 1
            return nil
        }

        /// Reads a text, without its quotes and escapes.
        private mutating func text() -> String {
            let start = place
            var hasEscapes = false
            place += 1
            while let byte, byte != UInt8(ascii: "\"") {
                if byte == UInt8(ascii: "\\") {
                    hasEscapes = true
                    place += 1
                }
                place += 1
            }
            place += 1
            guard hasEscapes else {
                return String(decoding: bytes[(start + 1)..<max(start + 1, min(place - 1, bytes.count))], as: UTF8.self)
            }
            return JSONValue(json: Array(bytes[start..<min(place, bytes.count)]))?.text ?? ""
        }

        private var byte: UInt8? { place < bytes.count ? bytes[place] : nil }

        private mutating func skip(_ sign: UInt8) {
            skipSpace()
            if byte == sign { place += 1 }
            skipSpace()
        }

        private mutating func skipSpace() { while let byte, " \t\r\n".utf8.contains(byte) { place += 1 } }
    }
}
