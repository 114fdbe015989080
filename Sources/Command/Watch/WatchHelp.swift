import Console

/// The explanation of the keys, on a separate screen.
enum WatchHelp {
    private static let keys: [(key: String, meaning: String)] = [
        ("1 to 6, tab", "switch between running, waiting, failed, ended, queues and workers"),
        ("up, down, k, j", "move; below the last line, the next page is loaded"),
        ("page up, page down", "a screen at a time; home and end, g and G"),
        ("enter", "show the details of a job"),
        ("/", "filter the list: batch=17 queue=nightly code=truncated, or the beginning of the source"),
        ("esc", "remove the filter"),
        ("c", "cancel the job"),
        ("C", "cancel all listed jobs"),
        ("r", "retry the job"),
        ("R", "retry all listed jobs"),
        ("p", "pause or resume the queue; stop or resume claiming for a worker"),
        ("Ctrl-L", "redraw the screen"),
        ("q, Ctrl-C", "quit; a change that is in progress stops where it is"),
    ]

    private static let remarks = [
        "Each change first shows how many jobs it affects, and needs y as an answer.",
        "Rates cover the last five minutes if enough jobs ended in them, otherwise up to an hour. Workers report their "
            + "progress every few seconds; in between, bars advance at the reported speed.",
    ]

    static func lines(_ style: ScreenStyle, columns: Int) -> [String] {
        let column = min(20, columns / 3)
        let rows = keys.flatMap { key, meaning in
            let words = meaning.wrapped(to: max(10, columns - column - 2))
            return words.enumerated().map { place, line in
                let head = (place == 0 ? key : "").shortened(to: column, unicode: style.unicode).padded(to: column)
                return style.paint(head, .strong) + "  " + line
            }
        }
        let notes = remarks.flatMap { [""] + $0.wrapped(to: max(10, columns)) }
        return [style.paint("sluice watch", .strong), ""] + rows + notes
    }
}
