import System

/// The jobs of a submission, counted as they are read.
struct CountedRequests<Base: Sequence & Sendable>: Sequence, Sendable {
    let base: Base
    let count: Int
    let progress: Latest<SubmitProgress.Count>

    func makeIterator() -> Iterator {
        // Each try of a submission reads all jobs again.
        progress.value = SubmitProgress.Count(total: count)
        return Iterator(base: base.makeIterator(), progress: progress)
    }

    struct Iterator: IteratorProtocol {
        fileprivate var base: Base.Iterator
        fileprivate let progress: Latest<SubmitProgress.Count>
        private var done = 0

        fileprivate init(base: Base.Iterator, progress: Latest<SubmitProgress.Count>) {
            (self.base, self.progress) = (base, progress)
        }

        mutating func next() -> Base.Element? {
            guard let next = base.next() else {
                report()
                return nil
            }
            done += 1
            if done % 256 == 0 { report() }
            return next
        }

        private func report() { _ = progress.change { $0.done = done } }
    }
}
