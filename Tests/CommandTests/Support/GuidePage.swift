import Foundation
import TestSupport

/// A page with commands for people, as a test reads it: fenced blocks of `sh`, whose first line says how they are to be run.
///
/// - `sh`: line by line, and each succeeds; `sh code=3`: the last one ends so.
/// - `sh nothing-matches`: each succeeds, or finds nothing to do.
/// - `sh service`: each line starts something that goes on until the page is over.
/// - `sh by-hand: why`: not in a test.
struct GuidePage {
    enum Manner: Equatable {
        case orderly(code: Int32)
        case nothingMay
        case service
        case byHand(why: String)
    }

    struct Block {
        let manner: Manner
        let lines: [String]
    }

    let blocks: [Block]
    /// Lines that look like commands and stand outside of such blocks.
    private(set) var strays: [String] = []

    /// Throws for a block of `sh` that says what no test understands.
    init(_ text: String) throws {
        var blocks: [Block] = []
        var fence: String?
        var inside: [String] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            guard line.hasPrefix("```") else {
                if fence != nil { inside.append(line) } else if Self.isCommand(line) { strays.append(line) }
                continue
            }
            guard let opened = fence else {
                fence = String(line.dropFirst(3))
                inside = []
                continue
            }
            if opened == "sh" || opened.hasPrefix("sh ") {
                blocks.append(Block(manner: try Self.manner(opened), lines: inside.filter { !$0.isEmpty }))
            } else if opened != "console" {
                strays += inside.filter { Self.isCommand("    " + $0) }
            }
            fence = nil
        }
        self.blocks = blocks
    }

    private static func manner(_ fence: String) throws -> Manner {
        let words = fence.dropFirst(3)
        if words.isEmpty { return .orderly(code: 0) }
        if words == "nothing-matches" { return .nothingMay }
        if words == "service" { return .service }
        if words.hasPrefix("code="), let code = Int32(words.dropFirst(5)) { return .orderly(code: code) }
        if words.hasPrefix("by-hand: ") { return .byHand(why: String(words.dropFirst(9))) }
        throw SupportError("read ```\(fence)", "no test understands it")
    }

    /// Set in by four blanks, as code is.
    private static func isCommand(_ line: String) -> Bool {
        guard line.hasPrefix("    ") else { return false }
        let first = line.dropFirst(4).split(separator: " ").first ?? ""
        return ["sluice", "make", "sudo", "source", "apt", "psql", "$", "scripts/prepare"].contains(first)
            && !line.contains("->")
    }
}
