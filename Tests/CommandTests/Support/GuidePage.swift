import Foundation
import TestSupport

/// A documentation page with commands, in fenced blocks of `sh` whose first line says how a test runs them.
///
/// - `sh`: each line must succeed; with `sh code=3` the last line must exit with 3.
/// - `sh nothing-matches`: each line must succeed or find nothing to do.
/// - `sh service`: each line starts a process that runs until the end of the page.
/// - `sh by-hand: why`: a test does not run it.
///
/// In a block of `console`, each command follows `$ `, and the lines up to the next one are the output of both its streams.
/// `console code=3` is like `sh code=3`.
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
        /// The output of each line, as the page shows it.
        var outputs: [ShownOutput]?
    }

    let blocks: [Block]
    /// Lines outside such blocks that look like commands.
    private(set) var strays: [String] = []

    /// Throws if a block of `sh` has an unknown first line.
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
            } else if opened == "console" || opened.hasPrefix("console ") {
                blocks.append(try Self.console(opened, inside))
            } else {
                strays += inside.filter { Self.isCommand("    " + $0) }
            }
            fence = nil
        }
        self.blocks = blocks
    }

    private static func console(_ fence: String, _ inside: [String]) throws -> Block {
        var commands: [String] = []
        var outputs: [[String]] = []
        for line in inside {
            if line.hasPrefix("$ ") {
                commands.append(String(line.dropFirst(2)))
                outputs.append([])
            } else if !outputs.isEmpty {
                outputs[outputs.count - 1].append(line)
            } else {
                throw SupportError("read ```\(fence)", "it begins with no command: \(line)")
            }
        }
        let manner = try Self.manner("sh" + fence.dropFirst("console".count))
        return Block(manner: manner, lines: commands, outputs: outputs.map(ShownOutput.init))
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

    /// Whether a line is indented by four spaces, like code, and begins with a known command.
    private static func isCommand(_ line: String) -> Bool {
        guard line.hasPrefix("    ") else { return false }
        let first = line.dropFirst(4).split(separator: " ").first ?? ""
        return ["sluice", "make", "sudo", "source", "apt", "psql", "$", "scripts/prepare"].contains(first)
            && !line.contains("->")
    }
}
