import Foundation
import Testing

/// A figure that a page quotes is the one that docs/benchmarks.md or docs/reliability.md has.
struct QuotedFigureTests {
    /// A figure in the table of a page, and the words with which other pages quote it.
    struct Figure: Sendable, CustomTestStringConvertible {
        /// The page that has the figure, and the cells of its row up to the figure.
        let page: String
        let row: String
        /// How a page may quote it: the text that must stand there, made of the figure.
        let quotation: @Sendable (Double) -> String
        /// The pages that quote it.
        let pages: [String]

        var testDescription: String { row }
    }

    static let figures: [Figure] = [
        Figure(
            page: "docs/benchmarks.md",
            row: "| WAV, 16 kHz |",
            quotation: { String(format: "%.1f s", $0) },
            pages: ["README.md"]
        ),
        Figure(
            page: "docs/benchmarks.md",
            row: "| WAV, 16 kHz | 2.39 |",
            quotation: { String(format: "%.1f s", $0) },
            pages: ["README.md"]
        ),
        Figure(
            page: "docs/benchmarks.md",
            row: "| 4, 500 |",
            quotation: { thousands($0) + " jobs a second" },
            pages: ["docs/scale.md"]
        ),
        Figure(
            page: "docs/benchmarks.md",
            row: "| hour to MP3, 128 kbit/s | 30.96 | 31.07 | 31.37 | 1.00 |",
            quotation: { String(format: "%.2f times", $0) },
            pages: ["README.md"]
        ),
        Figure(
            page: "docs/benchmarks.md",
            row: "| CPU us | 2157 | 982 | 432 | 229 | 134 | 79 | 59 | 47 |",
            quotation: { "in groups of 500 | \(Int($0)) us" },
            pages: ["docs/scale.md"]
        ),
        Figure(
            page: "docs/benchmarks.md",
            row: "| CPU us | 2157 | 982 | 432 | 229 | 134 | 79 |",
            quotation: { "in groups of 100 | \(Int($0)) us" },
            pages: ["docs/scale.md"]
        ),
        Figure(
            page: "docs/benchmarks.md",
            row: "| CPU us |",
            quotation: { "one at a time | \(thousands($0)) us" },
            pages: ["docs/scale.md"]
        ),
        Figure(
            page: "docs/benchmarks.md",
            row: "| 200 workers, 1-second jobs, direct |",
            quotation: { "claim 7 at a time: then it was \(thousands($0))" },
            pages: ["docs/scale.md"]
        ),
        Figure(
            page: "docs/reliability.md",
            row: "| kill -9 of a worker (of three at work) |",
            quotation: { thousands($0) + " workers" },
            pages: ["README.md"]
        ),
        Figure(
            page: "docs/reliability.md",
            row: "| kill -9 of a worker (of three at work) | 1000 | 4000 |",
            quotation: { thousands($0) + " jobs" },
            pages: ["README.md"]
        ),
    ]

    @Test(arguments: figures) func aQuotedFigureIsTheMeasuredOne(figure: Figure) throws {
        let texts = try DocumentPages().texts
        let source = try #require(texts[figure.page])
        let place = try #require(source.firstRange(of: "\n" + figure.row), "\(figure.page) has no row \(figure.row)")
        let cell: Substring = source[place.upperBound...].drop { $0 == " " }.prefix { $0.isNumber || $0 == "." }
        let quotation = figure.quotation(try #require(Double(cell)))
        for page in figure.pages {
            // A quotation may go over the end of a line.
            let text: String = try #require(texts[page]).replacing(/\s+/, with: " ")
            let isThere = text.contains(quotation)
            #expect(isThere, "\(page) does not say \"\(quotation)\", which \(figure.page) has")
        }
    }

    /// The start of a room had two figures on two pages.
    @Test func oneFigureSaysHowLongARoomTakesToStart() throws {
        let quoted = try DocumentPages().texts.filter { $0.value.contains(/27\.5\s+ms|29\.8/) }.keys
        #expect(quoted.sorted() == ["docs/benchmarks.md"])
    }
}

/// A number with commas between the thousands.
private func thousands(_ value: Double) -> String {
    let digits = String(Int(value))
    guard digits.count > 3 else { return digits }
    return digits.dropLast(3) + "," + digits.suffix(3)
}
