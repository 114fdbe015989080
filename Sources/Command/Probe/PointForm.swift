import Console
import Conversion

/// How the points of files are printed.
enum PointForm: String, CaseIterable, Sendable {
    case table, csv, audacity, liquidsoap

    var summary: String {
        switch self {
        case .table: "a table for people, below the description of the file"
        case .csv: "comma-separated columns with a header"
        case .audacity: "a label track, which Audacity imports"
        case .liquidsoap: "a line for Liquidsoap's protocol annotate, with liq_* values for an AutoDJ"
        }
    }

    static let header = "source,kind,seconds,frame,frames,rate,channels,text,value"

    /// The points as columns of `header`, a line for each.
    static func columns(_ report: PointReport, source: String) -> [String] {
        report.points.map { point in
            let channels = point.channels.map(String.init).joined(separator: " ")
            let seconds = report.time(of: point.frame).decimalSeconds(9)
            let columns = [
                source.plain, point.kind.rawValue, seconds, "\(point.frame)", "\(point.frames)",
                "\(report.sampleRateHz)", channels, point.text?.plain ?? "", point.value.map { "\($0)" } ?? "",
            ]
            return columns.map(quoted).joined(separator: ",")
        }
    }

    /// As RFC 4180 quotes it. A mark that is combined with a comma makes another character of it, but not another byte.
    private static func quoted(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: ",") }) else { return text }
        let parts = text.unicodeScalars.split(separator: "\"", omittingEmptySubsequences: false)
        return "\"" + parts.map { String($0) }.joined(separator: "\"\"") + "\""
    }

    /// The points as labels: start, end and text.
    static func labels(_ report: PointReport) -> [String] {
        report.points.map { point in
            let (start, end) = (report.time(of: point.frame), report.time(of: point.end))
            return [start.decimalSeconds(6), end.decimalSeconds(6), point.label.plain].joined(separator: "\t")
        }
    }
}

extension SourcePoint.Kind {
    /// `sound start`
    var words: String { rawValue.split(separator: "_").joined(separator: " ") }
}

extension SourcePoint {
    /// `chapter: A title`, `clipping in channel 1`
    var label: String {
        let places = channels.isEmpty ? "" : " in \(Plural.form("channel", for: channels.count)) \(channelWords)"
        return kind.words + places + (facts.map { ": \($0)" } ?? "")
    }

    /// `1, 2`
    var channelWords: String { channels.map(String.init).joined(separator: ", ") }

    /// What is known beside place and kind; `nil` if nothing is.
    var facts: String? {
        let figure: String? =
            switch kind {
            case .clipping: value.map { Figures.count(Int64(max(0, min($0, 1e15))), "sample") }
            case .offset: value.map { "\(Figures.decimals($0 * 100, 2)) % of full scale" }
            default: nil
            }
        let all = [text, figure, isRounded ? "between two frames" : nil].compactMap { $0 }
        return all.isEmpty ? nil : all.joined(separator: ", ")
    }
}

/// The places next to the times that the user asked for, for people and programs.
struct PointAnswers: Encodable {
    struct Place: Encodable {
        let frame: Int64
        let isEnd: Bool
        let point: SourcePoint

        init(_ place: PointPlaces.Place) {
            (frame, isEnd, point) = (place.frame, place.isEnd, place.point)
        }
    }

    /// All at one frame. Empty if there is no such place, `nil` if that was not asked for.
    let before: [Place]?
    let after: [Place]?

    /// `nil` if no time was asked for.
    init?(_ report: PointReport, before: MediaTime?, after: MediaTime?) {
        guard before != nil || after != nil else { return nil }
        let places = PointPlaces(report)
        self.before = before.map { places.previous(before: $0).map(Place.init) }
        self.after = after.map { places.next(after: $0).map(Place.init) }
    }
}

/// The points of one file for people.
struct PointPage {
    let report: PointReport
    /// What to show instead of the table.
    let answers: PointAnswers?

    func lines(for outlet: Outlet) -> [String] {
        if let answers { return lines("before", answers.before) + lines("after", answers.after) }
        guard !report.points.isEmpty else { return ["no points"] + rest }
        var table = TextTable([
            .init(title: "TIME", isNumber: true), .init(title: "FRAME", isNumber: true),
            .init(title: "KIND"), .init(title: "LENGTH", isNumber: true), .init(title: "CHANNELS", mayGo: true),
            .init(title: "WHAT", isElastic: true),
        ])
        for point in report.points {
            let channels = point.channels.isEmpty ? "all" : point.channelWords
            let length = point.frames > 0 ? self.length(point.frames) : ""
            table.add([
                .init(Self.milliseconds(report.time(of: point.frame))), .init(Figures.grouped(point.frame)),
                .init(point.kind.words), .init(length), .init(channels), .init(point.facts ?? ""),
            ])
        }
        return table.lines(for: outlet) + rest
    }

    /// What the table does not list.
    private var rest: [String] {
        let more = report.found.sorted { $0.key < $1.key }.map { kind, count in
            let listed = report.points.count { $0.kind.rawValue == kind }
            let words = SourcePoint.Kind(rawValue: kind)?.words ?? kind
            return "points of the kind \(words): \(Figures.grouped(count)) found, \(Figures.grouped(listed)) listed"
        }
        guard report.outside > 0 else { return more }
        return more + ["\(Figures.subject(report.outside, "mark")) outside the sound and not listed"]
    }

    private func lines(_ word: String, _ places: [PointAnswers.Place]?) -> [String] {
        guard let places else { return [] }
        guard !places.isEmpty else { return ["\(word): nothing"] }
        return places.map { place in
            let time = Self.milliseconds(report.time(of: place.frame))
            let end = place.isEnd ? "end of " : ""
            return "\(word): \(time) (frame \(Figures.grouped(place.frame))) \(end)\(place.point.label.printable)"
        }
    }

    /// Short ones in frames.
    private func length(_ frames: Int64) -> String {
        frames < Int64(report.sampleRateHz / 100)
            ? Figures.count(frames, "frame") : Self.milliseconds(report.time(of: frames))
    }

    /// `1:02.500`: all places have as many digits, below each other.
    private static func milliseconds(_ time: MediaTime) -> String {
        let thousandths = time.converted(to: 1_000, rounding: .towardNegativeInfinity)
        guard thousandths.isNumeric else { return time.description }
        let rest = String(thousandths.value % 1_000)
        let whole = MediaTime(value: thousandths.value / 1_000, timescale: 1).description
        return whole + "." + String(repeating: "0", count: max(0, 3 - rest.count)) + rest
    }
}
