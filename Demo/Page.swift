import Foundation

/// Eighty columns of text, coloured on a terminal that wants colour.
struct Page {
    private let coloured: Bool

    init(isTerminal: Bool) {
        coloured = isTerminal && ProcessInfo.processInfo.environment["NO_COLOR"] == nil
    }

    func title(_ text: String) { print("\n\(paint(text, "1"))\n") }

    func heading(_ text: String) { print(paint(text, "2")) }

    enum Verdict { case good(String), bad(String), plain(String) }

    func line(_ text: String, _ verdict: Verdict) {
        switch verdict {
        case .good(let word): print("\(text)  \(paint(word, "32"))")
        case .bad(let word): print("\(text)  \(paint(word, "31"))")
        case .plain(let word): print("\(text)  \(word)")
        }
    }

    func error(_ text: String) { print("  \(paint("error:", "31")) \(text)") }

    func text(_ text: String) { print("  \(text)") }

    func remark(_ text: String) { print("\n\(paint(text, "2"))") }

    private func paint(_ text: String, _ code: String) -> String { coloured ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text }
}

extension String {
    func padded(_ width: Int) -> String { count < width ? self + String(repeating: " ", count: width - count) : self }
    func aligned(_ width: Int) -> String { count < width ? String(repeating: " ", count: width - count) + self : self }
}
