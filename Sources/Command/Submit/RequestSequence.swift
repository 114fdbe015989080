import Ledger

/// The jobs of a submission, made one by one as they are read.
///
/// `chosen.lazy.map` in a function that promises a `Sendable` sequence makes an array: a lazy map is not `Sendable`, and the
/// compiler takes the map that is.
struct RequestSequence<Choices: Sequence & Sendable>: Sequence, Sendable {
    let choices: Choices
    let request: @Sendable (Choices.Element) -> JobRequest

    func makeIterator() -> Iterator { Iterator(rest: choices.makeIterator(), request: request) }

    struct Iterator: IteratorProtocol {
        fileprivate var rest: Choices.Iterator
        fileprivate let request: @Sendable (Choices.Element) -> JobRequest

        mutating func next() -> JobRequest? { rest.next().map(request) }
    }
}
