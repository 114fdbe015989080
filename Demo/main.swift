// A first look: a private cluster converts a folder of recordings, some of them damaged. `page` keeps one up to be looked
// at in a browser; `formats`, `damage`, `edits` and `book` go deeper.
import Foundation

let page = Page(isTerminal: isatty(STDOUT_FILENO) == 1)
let words = CommandLine.arguments.dropFirst()
guard words.count <= 1, let tour = Tour(rawValue: words.first ?? "cluster") else {
    page.text("Tours: \(Tour.allCases.map(\.rawValue).joined(separator: ", ")); as in: make demo ARGS=formats\n")
    exit(2)
}

page.text("\n")
Interruption.begin()
do {
    let start = ContinuousClock.now
    let place = try DemoPlace.create()
    // From here on the folder and its processes are removed, whatever happens.
    let outcome = Result { try tour.run(in: place, on: page) }
    try place.remove()
    switch outcome {
    case .success(let isWell):
        let seconds = Int((ContinuousClock.now - start) / .seconds(1))
        let others = Tour.allCases.filter { $0 != tour }.map { "make demo ARGS=\($0.rawValue)" }
        page.remark("That took \(seconds) s, and all files were removed. More tours:")
        page.remark("    " + others.joined(separator: "\n    "))
        if tour == .cluster {
            page.remark("A cluster has a page for browsers: make demo ARGS=page, or \"sluice open\" for your own.")
        }
        exit(isWell ? 0 : 1)
    case .failure(let error): throw error
    }
} catch let stop as Interruption.Stop {
    page.remark("Stopped: all processes have ended and all files are removed.")
    exit(128 + stop.signal)
} catch {
    page.text("\(error)\n")
    exit(1)
}
