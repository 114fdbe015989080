/// The number of typing errors between two words: a letter added, missing, wrong, or swapped with the next one.
public enum EditDistance {
    /// The most similar word; `nil` if even that differs in more than a third of the letters (and in more than one).
    public static func nearest(to wanted: String, among words: [String]) -> String? {
        let ranked = words.map { (word: $0, distance: between(wanted, $0)) }
        let nearest = ranked.min { $0.distance < $1.distance }
        return nearest.flatMap { $0.distance <= max(1, wanted.count / 3) ? $0.word : nil }
    }

    /// The words that were probably meant: up to three that begin with `wanted`, or else the nearest one.
    public static func suggestions(for wanted: String, among words: [String]) -> [String] {
        let longer = wanted.count < 2 ? [] : words.filter { $0.hasPrefix(wanted) }
        guard longer.isEmpty else { return Array(longer.prefix(3)) }
        return nearest(to: wanted, among: words).map { [$0] } ?? []
    }

    static func between(_ first: String, _ second: String) -> Int {
        let (rows, columns) = (Array(first), Array(second))
        var beforeLast: [Int] = []
        var last = Array(0...columns.count)
        for row in rows.indices {
            var current = [row + 1]
            for column in columns.indices {
                let isSame = rows[row] == columns[column]
                var best = min(last[column + 1] + 1, current[column] + 1, last[column] + (isSame ? 0 : 1))
                if row > 0, column > 0, rows[row] == columns[column - 1], rows[row - 1] == columns[column] {
                    best = min(best, beforeLast[column - 1] + 1)
                }
                current.append(best)
            }
            (beforeLast, last) = (last, current)
        }
        return last[columns.count]
    }
}
