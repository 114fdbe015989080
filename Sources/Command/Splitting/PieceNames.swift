import Console
import Conversion
import Storage

/// What the pieces of a source are called, as in `{stem}-{n}.flac`.
struct PieceNames: Sendable, Hashable {
    enum Field: String, Sendable, CaseIterable {
        /// The source's name without its extension.
        case stem
        /// The number of the piece, with as many digits as the last one has.
        case n
        /// The title of the chapter.
        case title
    }

    let text: String
    private let template: FieldTemplate<Field>

    init(parsing text: String) throws(Misfit) {
        do throws(FieldTemplate<Field>.Mistake) {
            template = try FieldTemplate(parsing: text)
        } catch {
            throw Misfit(why: "is not a name for pieces: \(error.detail)")
        }
        self.text = text
    }

    /// A name for each of `pieces`; no two are the same.
    func names(for pieces: [SplitPoints.Piece], of source: String) throws(UsageError) -> [String] {
        let stem = (source.lastPathName ?? source).withoutExtension
        let names = pieces.enumerated().map { index, piece in
            template.parts.map { part in
                switch part {
                case .text(let text): text
                case .field(.stem): stem
                case .field(.n): Self.number(pieces.number(index), of: pieces.lastNumber)
                case .field(.title): Self.nameable(piece.title ?? "") ?? stem
                }
            }.joined()
        }
        var numbers: [String: Int] = [:]
        for (index, name) in names.enumerated() {
            guard let earlier = numbers.updateValue(index + 1, forKey: name) else { continue }
            throw UsageError(
                "--to \(text): pieces \(earlier) and \(index + 1) would both be \(name)",
                hint: "put {n}, the number of the piece, into the name"
            )
        }
        return names
    }

    /// The number of a piece, with as many digits as the last one has.
    static func number(_ number: Int, of count: Int) -> String {
        let (digits, most) = ("\(number)", "\(count)".count)
        return String(repeating: "0", count: max(0, most - digits.count)) + digits
    }

    /// A title as a part of a name: without slashes and control characters, and of a length that file systems take.
    /// `nil` if nothing is left.
    static func nameable(_ title: String) -> String? {
        let scalars = title.unicodeScalars.map { $0 == "/" || $0.properties.generalCategory == .control ? "-" : $0 }
        var name = String(String.UnicodeScalarView(scalars)).trimmed
        while name.utf8.count > 150 { name.removeLast() }
        return name.isEmpty || name.allSatisfy({ $0 == "." }) ? nil : name
    }
}

extension String {
    fileprivate var trimmed: String {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}

extension ValueType where Value == PieceNames {
    /// `{stem}-{n}.flac`
    static let pieceNames = ValueType(placeholder: "NAME") { text throws(Misfit) in
        guard !text.isEmpty else { throw .empty }
        return try PieceNames(parsing: text)
    }
}
