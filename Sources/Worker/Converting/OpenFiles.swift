import Storage
import Synchronization

/// The open sources and outputs of a job. All calls block, and wait for one that is under way.
final class OpenFiles: Sendable {
    private let sources: Mutex<SourceFiles?>
    let outputs: Mutex<OutputSet?>

    init(_ sources: SourceFiles, _ outputs: consuming sending OutputSet) {
        self.sources = Mutex(sources)
        self.outputs = Mutex(consume outputs)
    }

    func closeSources() { sources.withLock { $0 = nil } }

    /// Closes the files, which also deletes unpublished outputs.
    func close() {
        closeSources()
        outputs.withLock { $0 = nil }
    }
}
