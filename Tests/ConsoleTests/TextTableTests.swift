import Foundation
import Testing

@testable import Console

/// Tables at common terminal widths.
struct TextTableTests {
    init() { Locale.useUTF8() }

    private var table: TextTable {
        var table = TextTable([
            .init(title: "PRESET"), .init(title: "SIZE", isNumber: true), .init(title: "WHY", isElastic: true),
        ])
        table.add([.init("archive-flac"), .init("1.0 kB"), .init(String(repeating: "word ", count: 20))])
        table.add([.init("講演"), .init("-"), .init("short")])
        table.add([.init("evil\u{1B}[2J"), .init("12.5 MB"), .init("two\nlines")])
        return table
    }

    @Test(arguments: [40, 80, 200])
    func linesFit(width: Int) {
        for line in table.lines(width: width) { #expect(line.displayWidth <= width, "\(line)") }
    }

    @Test func nothingIsCutWhereThereIsRoomOrNoTerminal() {
        for lines in [table.lines(width: 200), table.lines(width: nil)] {
            #expect(lines.count == 4)
            #expect(lines[1].contains(String(repeating: "word ", count: 20)))
            #expect(!lines.joined().contains("…"))
        }
    }

    @Test func elasticColumnGivesWayFirst() {
        let lines = table.lines(width: 40)
        #expect(lines[1].hasPrefix("archive-flac   "))
        #expect(lines[1].hasSuffix("…"))
    }

    @Test func otherColumnsGiveWayInTheEnd() {
        let lines = table.lines(width: 20)
        #expect(lines.allSatisfy { $0.displayWidth <= 20 })
        #expect(lines[1].hasPrefix("arch…"))
    }

    @Test func columnsStandUnderEachOther() {
        let lines = table.lines(width: nil)
        // The number ends in the column in which its heading ends, whatever characters precede it.
        let end = lines[0].range(of: "SIZE")!.upperBound
        let column = String(lines[0][..<end]).displayWidth
        for (line, number) in zip(lines.dropFirst(), ["1.0 kB", "-", "12.5 MB"]) {
            let end = line.range(of: "\(number)  ")!.lowerBound
            #expect(String(line[..<end]).displayWidth + number.count == column, "\(line)")
        }
    }

    @Test func cellsAreOneLineAndForgeNothing() {
        let text = table.lines(width: nil).joined()
        #expect(text.contains("evil\\u{1b}[2J"))
        #expect(text.contains("two\\u{a}lines"))
        #expect(!text.unicodeScalars.contains { $0.value < 0x20 })
    }

    @Test func withoutUnicodeTheMarkIsATilde() {
        #expect(table.lines(width: 40, unicode: false)[1].hasSuffix("~"))
    }

    @Test func columnsThatMayGoMakeRoomFromTheRight() {
        var table = TextTable([
            .init(title: "ID", isNumber: true), .init(title: "SOURCE", isElastic: true),
            .init(title: "WHEN", mayGo: true), .init(title: "WORKER", mayGo: true),
        ])
        table.add(["12", "podcasts:2020/a-long-name.wav", "2 min ago", "pump-1/0"])
        #expect(table.lines(width: 80)[0] == "ID  SOURCE                         WHEN       WORKER")
        #expect(table.lines(width: 50)[1] == "12  podcasts:2020/a-long-nam…  2 min ago  pump-1/0")
        #expect(table.lines(width: 40)[1] == "12  podcasts:2020/a-long-nam…  2 min ago")
        #expect(table.lines(width: 25)[1] == "12  podcasts:2020/a-long…")
        #expect(table.lines(width: 80, headed: false).count == 1)
    }
}
