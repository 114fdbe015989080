import Console
import Conversion

/// How many files and bytes have moved between this machine and a coordinator.
struct TransferTally: Sendable {
    var files = 0
    var bytes: Int64 = 0
    var doneFiles = 0
    var doneBytes: Int64 = 0
    /// Those of `doneFiles` that were there already.
    var present = 0
    /// The bytes that were there already, whole files and parts.
    private var presentBytes: Int64 = 0
    /// The bytes that have moved of files that are under way, by their place in the list.
    var moving: [Int: Int64] = [:]

    /// With the parts of files that are under way.
    var movedBytes: Int64 { min(bytes, moving.values.reduce(doneBytes) { $0 &+ max(0, $1) }) }

    /// Those that had to move.
    var carriedBytes: Int64 { max(0, movedBytes - presentBytes) }

    init(files: Int = 0, bytes: Int64 = 0) { (self.files, self.bytes) = (files, bytes) }

    /// Begins a file of which an earlier transfer has left these bytes.
    mutating func begin(_ place: Int, present bytes: Int64) {
        moving[place] = bytes
        presentBytes += bytes
    }

    mutating func end(_ place: Int, bytes: Int64, wasPresent: Bool) {
        moving[place] = nil
        doneFiles += 1
        doneBytes += bytes
        guard wasPresent else { return }
        present += 1
        presentBytes += bytes
    }
}

/// The progress of a transfer, for standard error.
struct TransferProgress: ProgressRecord {
    let tally: TransferTally
    /// `sent` or `fetched`.
    let word: String
    let passed: Duration

    private var share: Double {
        guard tally.bytes > 0 else { return tally.files == 0 ? 1 : Double(tally.doneFiles) / Double(tally.files) }
        return Double(tally.movedBytes) / Double(tally.bytes)
    }
    private var percent: String { "\(Int(share * 100))%".aligned(to: 4) }

    func bar(on outlet: Outlet) -> String { outlet.bar(share, "\(percent)   \(facts)") }

    var line: String { "\(percent)  \(facts)" }

    /// `12 of 40 files sent  1.9 of 6.2 GB  84.1 MB/s  1 min left`
    private var facts: String {
        var facts = [
            "\(Figures.grouped(tally.doneFiles)) of \(Figures.count(tally.files, "file")) \(word)",
            "\(Figures.bytes(tally.movedBytes)) of \(Figures.bytes(tally.bytes))",
        ]
        let (carried, seconds) = (Double(tally.carriedBytes), passed.seconds)
        if carried > 0, seconds >= 1 {
            let rate = carried / seconds
            facts.append("\(Figures.bytes(Int64(rate)))/s")
            facts.append("\(TimeWords.span(seconds: Double(tally.bytes - tally.movedBytes) / rate)) left")
        }
        return facts.joined(separator: "  ")
    }

    var values: [String] {
        [
            "files=\(tally.files)", "\(word)_files=\(tally.doneFiles)", "bytes=\(tally.bytes)",
            "\(word)_bytes=\(tally.movedBytes)",
        ]
    }

    struct Event: Encodable {
        let state: String
        let transfer: String
        let files: Int
        let doneFiles: Int
        let bytes: Int64
        let doneBytes: Int64
    }

    func event(_ state: String) -> Event {
        Event(
            state: state,
            transfer: word,
            files: tally.files,
            doneFiles: tally.doneFiles,
            bytes: tally.bytes,
            doneBytes: tally.movedBytes
        )
    }
}
