/// The explanation of the keys, on a separate screen.
enum WatchHelp {
    private static let keys: [(key: String, meaning: String)] = [
        ("1 to 6, tab", "another list: running, waiting, failed, ended, queues, workers"),
        ("up, down, k, j", "move; behind the last line comes the next page"),
        ("page up, page down", "a screen at a time; home and end, g and G"),
        ("enter", "the whole story of a job"),
        ("/", "list only some: batch=17 queue=nightly code=truncated, or what the source begins with"),
        ("esc", "list all again"),
        ("c", "cancel the job"),
        ("C", "cancel all that are listed"),
        ("r", "put the job back into line"),
        ("R", "put all that are listed back into line"),
        ("p", "pause or resume the queue; let a worker claim nothing more, or again"),
        ("Ctrl-L", "draw the screen anew"),
        ("q, Ctrl-C", "leave; a change that is still under way stops where it is"),
    ]

    private static let remarks = [
        "Nothing is changed before it was said how many jobs it is about, and answered with y.",
        "Paces are those of the last five minutes. Workers tell every few seconds how far they are; in between, bars go on "
            + "at the speed that was told.",
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
