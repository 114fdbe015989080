import Foundation

/// Prints text for 80 columns, in colour on a terminal unless NO_COLOR is set.
struct Page {
    let isColoured: Bool

    init(isTerminal: Bool) {
        isColoured = isTerminal && ProcessInfo.processInfo.environment["NO_COLOR"] == nil
    }

    func title(_ text: String) { print("\(paint(text, "1"))\n") }

    func heading(_ text: String) { print(paint(text, "2")) }

    enum Verdict { case good(String), bad(String), plain(String) }

    func line(_ text: String, _ verdict: Verdict) {
        switch verdict {
        case .good(let word): print("\(text)  \(paint(word, "32"))")
        case .bad(let word): print("\(text)  \(paint(word, "31"))")
        case .plain(let word): print("\(text)  \(word)")
        }
    }

    /// A command line, shown as a person types it.
    func typed(_ line: String) { print("\(paint("$", "2")) \(paint(line, "1"))") }

    func text(_ text: String) { print(text, terminator: "") }

    func remark(_ text: String) { print(paint(text, "2")) }

    private func paint(_ text: String, _ code: String) -> String {
        isColoured ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}

extension String {
    func padded(_ width: Int) -> String { count < width ? self + String(repeating: " ", count: width - count) : self }
    func aligned(_ width: Int) -> String { count < width ? String(repeating: " ", count: width - count) + self : self }
}

extension Int64 {
    /// `308,700`
    var grouped: String {
        var digits = Array(description)
        for place in stride(from: digits.count - 3, to: 0, by: -3) { digits.insert(",", at: place) }
        return String(digits)
    }
}
