/// The output of a command as a guide shows it, shortened and with the numbers of the run that it was copied from.
///
/// A line of three dots stands for any number of lines. Numbers, times and the widths of columns differ from run to run.
struct ShownOutput {
    let lines: [String]

    /// Whether `said` is this output.
    func matches(_ said: String) -> Bool {
        Self.matches(Self.lines(of: said)[...], lines.map(Self.loosely)[...])
    }

    private static func lines(of text: String) -> [String] {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { loosely(String($0)) }
        if lines.last == "" { lines.removeLast() }
        return lines
    }

    private static func matches(_ said: ArraySlice<String>, _ shown: ArraySlice<String>) -> Bool {
        guard let first = shown.first else { return said.isEmpty }
        guard first == "..." else {
            return said.first == first && matches(said.dropFirst(), shown.dropFirst())
        }
        return (said.startIndex...said.endIndex).contains { matches(said[$0...], shown.dropFirst()) }
    }

    /// `line` without what differs from run to run.
    private static func loosely(_ line: String) -> String {
        if line == "..." { return line }
        return line.replacing(#/just now|[0-9]+ (s|min) ago/#) { _ in "AGO" }
            .replacing(#/[0-9]+ [A-Z][a-z]{2} [0-9]{2}:[0-9]{2}|\b[0-9]{2}:[0-9]{2}:[0-9]{2}\b/#) { _ in "MOMENT" }
            .replacing(#/link=[0-9a-f]+/#) { _ in "link=0" }.replacing(#/[0-9]+([.,:][0-9]+)*/#) { _ in "0" }
            .replacing(#/0 [kMGT]?B\b/#) { _ in "0 B" }
            .replacing(#/ +/#) { _ in " " }
            .replacing(#/ $/#) { _ in "" }
    }
}
