import Testing

struct ShownOutputTests {
    private let shown = ShownOutput(lines: ["ID  STATE   WHEN", "...", " 3  failed  2 min ago", "done in 0.1 s"])

    @Test(arguments: [
        "ID  STATE   WHEN\n 3  failed  just now\ndone in 12.25 s\n",
        "ID   STATE    WHEN\n 14  running  4 s ago\n 13  waiting  -\n 12  failed   4 s ago  \ndone in 0.1 s\n",
    ])
    func numbersAndWidthsMayDiffer(said: String) {
        #expect(shown.matches(said))
    }

    @Test(arguments: [
        "", "ID  STATE   WHEN\n", "ID  STATE   WHEN\n 3  cancelled  just now\ndone in 0.1 s\n",
        "ID  STATE   WHEN\n 3  failed  just now\n", "note\nID  STATE   WHEN\n 3  failed  just now\ndone in 0.1 s\n",
    ])
    func wordsAndLinesMayNot(said: String) {
        #expect(!shown.matches(said))
    }
}
