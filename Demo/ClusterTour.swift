import Foundation
import TestSupport

/// The tour of a private cluster: submits a folder, watches it, explains four failures and repairs two of them.
struct ClusterTour {
    let place: DemoPlace
    let page: Page

    func run() throws -> Bool {
        let shell = Shell(folder: place.folder, environment: place.environment, page: page)
        page.title("A folder of recordings, to become MP3")
        try Recordings(folder: place.path("in")).make()
        try shell.type("du --apparent-size --human-readable in/*/")

        page.title("A cluster of one's own: PostgreSQL, a coordinator, a worker")
        try shell.typeWhole("sluice up")
        // 3: some have failed, as they should.
        try shell.type(
            "sluice submit -r in --to 'out/{dir}/{stem}.mp3'",
            "--preset podcast-mp3 --label demo --wait",
            code: 3
        )

        page.title("Four failed. Why, and what now?")
        try shell.type("sluice errors")
        let (upload, scratched) = (try failed("truncated", shell), try failed("corrupt_stream", shell))
        try shell.type("sluice job \(upload)")

        page.title("One upload was cut off: it is sent again. The scratch is filled with silence")
        try shell.type("mv upload-again.wav in/broken/upload.wav")
        try shell.type("sluice retry \(upload) --yes")
        try shell.type("sluice retry --code corrupt_stream --on-damage conceal --yes")
        try shell.type("sluice wait --batch 1", code: 3)

        page.title("What became of it")
        try shell.type("sluice batches")
        try shell.type("sluice jobs --limit 5")
        try shell.type("sluice job \(scratched)")
        let isWell = try check(shell)
        try shell.type("sluice down")
        return isWell
    }

    /// The id of the one job that failed with `code`.
    private func failed(_ code: String, _ shell: Shell) throws -> String {
        let ids = try shell.output(of: "sluice jobs --state failed --code \(code) --quiet")
        return ids.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Whether every source except the two irreparable ones has an output.
    private func check(_ shell: Shell) throws -> Bool {
        let made = try shell.output(of: "find out -type f -name '*.mp3' -size +0 | wc --lines")
        let given = try shell.output(of: "find in -type f | wc --lines")
        guard let made = Int(made.filter(\.isNumber)), let given = Int(given.filter(\.isNumber)) else { return false }
        return made == given - 2
    }
}
