import Conversion
import Foundation
import FuzzedTexts
import TestSupport

@testable import PumpRoom

/// Messages of a lying room: well-formed ones in which a seeded generator replaces a few values with false ones.
struct ReplyGenerator {
    /// JSON whose values can be replaced while its structure stays.
    private indirect enum Tree {
        case object([(key: String, value: Tree)])
        case list([Tree])
        /// A value as JSON text.
        case leaf(String)

        init(_ value: Any) {
            switch value {
            case let object as [String: Any]:
                self = .object(object.sorted { $0.key < $1.key }.map { ($0.key, Tree($0.value)) })
            case let list as [Any]: self = .list(list.map(Tree.init))
            default:
                let data = try? JSONSerialization.data(withJSONObject: value, options: .fragmentsAllowed)
                self = .leaf(data.map { String(decoding: $0, as: UTF8.self) } ?? "null")
            }
        }

        func write(into text: inout String) {
            switch self {
            case .object(let members):
                text += "{"
                for (place, member) in members.enumerated() {
                    text += place == 0 ? "\"" : ",\""
                    text += member.key
                    text += "\":"
                    member.value.write(into: &text)
                }
                text += "}"
            case .list(let items):
                text += "["
                for (place, item) in items.enumerated() {
                    if place > 0 { text += "," }
                    item.write(into: &text)
                }
                text += "]"
            case .leaf(let leaf): text += leaf
            }
        }

        /// Replaces, removes or repeats a value somewhere in the tree.
        mutating func twist(_ generator: inout SeededGenerator) {
            switch self {
            case .object(var members):
                guard !members.isEmpty else { return }
                let place = generator.whole(in: 0..<members.count)
                if generator.whole(in: 0..<40) == 0 {
                    members.remove(at: place)
                } else {
                    members[place].value.twist(&generator)
                }
                self = .object(members)
            case .list(var items):
                if items.isEmpty || generator.whole(in: 0..<20) == 0 {
                    self = .list(Array(repeating: .leaf("\"x\""), count: generator.whole(in: 0..<300)))
                    return
                }
                items[generator.whole(in: 0..<items.count)].twist(&generator)
                self = .list(items)
            case .leaf(let leaf):
                // Mostly a value of the same type, so that most messages can still be decoded.
                let isNumber = leaf.first.map { $0.isNumber || $0 == "-" } ?? false
                let pool = (generator.whole(in: 0..<20) == 0) != isNumber ? Self.numbers : Self.texts
                self = .leaf(pool[generator.whole(in: 0..<pool.count)])
            }
        }

        private static let numbers = [
            "0", "1", "-1", "2", "255", "32767", "32768", "65536", "65537", "2147483647", "2147483648", "-2147483649",
            "4294967296", "1099511627776", "281474976710656", "281474976710657", "9007199254740993",
            "1152921504606846976", "4611686018427387904", "9223372036854775807", "9223372036854775808",
            "-9223372036854775808", "-9223372036854775809", "18446744073709551615", "1e18", "1e300", "1e400", "0.5",
            "-0.0", "1001", "44100", "768000", "null",
        ]

        private static let texts = [
            "\"\"", "\"\\u0000\"", "\"\\ud800\"", "\"\\u001b[31m\"", "\"\\u202e\"", "\"' or 1=1 --\"", "\"{}\"",
            "\"a\\\\\"",
            "\"9223372036854775807/1\"", "\"-9223372036854775807/1\"", "\"1/2147483647\"", "\"1/0\"", "\"inf\"",
            "\"NaN\"", "\"nan\"", "\"indefinite\"", "\"0xffffffffffffffff\"", "\"discrete 9223372036854775807\"",
            "\"stereo\"", "\"wav\"", "\"flac\"", "\"permanent\"", "\"cancelled\"", "\"publish\"", "\"unexpected\"",
            "true", "false", "null", "\"" + String(repeating: "ü", count: 5_000) + "\"", "[]", "{}",
        ]
    }

    private var generator: SeededGenerator
    private let kinds: [Tree]

    init(seed: UInt64) throws {
        generator = SeededGenerator(seed: seed)
        let spent = WireCost(cpuMicroseconds: 12_000, peakBytes: 1 << 24)
        let replies: [RoomReply] = [
            .progress(job: 1, RoomFigures.progress), .converted(job: 1, try RoomFigures.report(), spent),
            .failed(job: 1, RoomFigures.failure, spent), .described(job: 1, try RoomFigures.description(), spent),
            .begun(job: 1, spent: spent), .wrote(job: 1, try RoomFigures.report()),
            .pointed(job: 1, [SourcePoint(.clipping, at: 120, frames: 3, channels: [1, 2], text: "t", value: 6)]),
            .wants(job: 1, WindowQuestion(number: 3, source: 0, offset: 4_096, count: 8_192)),
        ]
        let coder = WireCoder()
        kinds = try replies.map { Tree(try JSONSerialization.jsonObject(with: Data(coder.bytes($0)))) }
    }

    /// The next message. About a third of them are unchanged.
    mutating func next() -> [UInt8] {
        // Reports and failures are more frequent, because the ledger stores them.
        var tree = kinds[[0, 1, 1, 2, 2, 3, 4, 5, 6, 7][generator.whole(in: 0..<10)]]
        for _ in 0..<generator.whole(in: 0..<3) { tree.twist(&generator) }
        var text = ""
        tree.write(into: &text)
        return Array(text.utf8)
    }
}
