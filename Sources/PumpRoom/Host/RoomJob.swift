package import Conversion
import Synchronization

/// One piece of work on its way through a slot, with the caller that waits for its outcome.
struct RoomJob: Sendable {
    /// Tells the caller the outcome.
    typealias Finish<Answer: Sendable & Hashable> = @Sendable (RoomOutcome<Answer>) -> Void

    /// What the room must do. Each kind has its own type of answer, so an answer can only reach a caller that asked for it.
    /// The caller is told exactly once.
    enum Kind: Sendable {
        case convert(Conversion, Finish<[ConversionReport]>)
        case measure(Recipe, Finish<TrackMeasure>)
        case probe(ProbeOptions, Finish<SourceReport>)
    }

    struct Conversion: Sendable {
        let recipe: Recipe
        /// Open for reading and writing, one for each output of the recipe. With `streams`, the only one may be a pipe.
        let destinations: [Int32]
        let streams: Bool
        let album: AlbumLoudness?
    }

    let id: Int64
    let kind: Kind
    let sources: [Int32]
    let sourceBytes: Int64?
    let endsRoom: Bool
    let party: String?
    /// Tells the caller that a room has begun the work.
    let began: @Sendable () -> Void
    let report: @Sendable (ConversionProgress) -> Void
    let ticket: RoomTicket
    /// The sources that are fetched for the room, by their places.
    let windows: [Int: RoomWindow]
    /// Takes the answer to a question of the room for bytes of such a source, from any thread.
    var deliver: @Sendable (_ question: Int64, _ count: Int?) -> Void = { _, _ in }
    /// How many rooms had this job and ended before they began it.
    var moves = 0

    init<Answer>(
        id: Int64,
        work: RoomWork<Answer>,
        began: @escaping @Sendable () -> Void = {},
        report: @escaping @Sendable (ConversionProgress) -> Void,
        finish: @escaping Finish<Answer>,
        ticket: RoomTicket
    ) {
        self.id = id
        kind = work.kind(finish)
        sources = work.sources
        sourceBytes = work.sourceBytes
        endsRoom = work.endsRoom
        party = work.party
        windows = work.windows
        self.began = began
        self.report = report
        self.ticket = ticket
    }

    // MARK: - Outcomes that any work can have

    func fail(_ failure: RoomFailure) {
        switch kind {
        case .convert(_, let finish): finish(.failed(failure))
        case .measure(_, let finish): finish(.failed(failure))
        case .probe(_, let finish): finish(.failed(failure))
        }
    }

    func fail(_ failure: Failure) { fail(RoomFailure(failure)) }

    func cancel() { fail(.cancelledBeforeItBegan) }

    func handBack() {
        switch kind {
        case .convert(_, let finish): finish(.handedBack)
        case .measure(_, let finish): finish(.handedBack)
        case .probe(_, let finish): finish(.handedBack)
        }
    }
}

// MARK: - What the room is sent, and what it may answer

extension RoomJob {
    /// The recipe of a conversion or a measurement.
    private var recipe: Recipe? {
        switch kind {
        case .convert(let conversion, _): conversion.recipe
        case .measure(let recipe, _): recipe
        case .probe: nil
        }
    }

    private var destinations: [Int32] {
        if case .convert(let conversion, _) = kind { conversion.destinations } else { [] }
    }

    /// The descriptors that go to the room, in the order in which it expects them.
    var descriptors: [Int32] { sources + destinations }

    /// The number of outputs, each of which the room must report on.
    var outputCount: Int { destinations.count }

    /// Whether a report on the output `place` says that the spec that the recipe asks for accepted it, or names none if it asks
    /// for none. If only waveforms have destinations, no sound is made that a spec could judge.
    func hasAskedFor(_ report: ConversionReport, at place: Int) -> Bool {
        guard case .convert(let conversion, _) = kind else { return report.spec == nil }
        let outputs = conversion.recipe.outputs
        let spec = outputs.count <= outputCount && outputs.indices.contains(place) ? outputs[place].spec : nil
        return report.spec?.spec == spec?.rawValue
    }

    /// Why the outputs of the recipe do not fit its destinations; `nil` if they do.
    var mistakeInOutputs: String? {
        guard case .convert(let conversion, _) = kind,
            !conversion.recipe.fits(destinations: conversion.destinations.count)
        else { return nil }
        let outputs = Plural.count(conversion.recipe.outputs.count, "output")
        return "the recipe has \(outputs), but there is room for \(conversion.destinations.count)"
    }

    var limits: Recipe.Limits? {
        switch kind {
        case .convert(let conversion, _): conversion.recipe.limits
        case .measure(let recipe, _): recipe.limits
        case .probe(let options, _): options.limits
        }
    }

    /// How often it reads its sources before it writes anything: to find silence, to measure, to describe in tags.
    var earlyPasses: Int { recipe?.earlyPasses ?? 0 }

    /// The pieces of its timeline. Several may read the same source.
    var pieceCount: Int { recipe?.timeline?.tracks.reduce(0) { $0 + $1.pieces.count } ?? 0 }

    /// Whether it reads ranges of its sources again and again.
    var repeatsPieces: Bool {
        recipe?.timeline?.tracks.contains { $0.pieces.contains { $0.repeats != nil } } ?? false
    }

    /// The highest figures that it can report, within the limits that the room was given.
    func bounds(_ limits: Recipe.Limits) -> JobBounds {
        guard recipe?.timeline == nil else { return JobBounds(limits, source: nil) }
        return JobBounds(limits, source: sources[0], byteCount: sourceBytes ?? windows[0]?.byteCount)
    }

    /// The message to the room, without paths. `last` is the recipe of the last conversion that the room was sent.
    func request(_ configuration: RoomConfiguration, after last: Recipe? = nil) -> RoomRequest {
        switch kind {
        case .convert(let conversion, _):
            let recipe = sent(conversion.recipe, configuration)
            if let last, recipe.isWritten(like: last) {
                return .again(job: id, streams: conversion.streams, album: conversion.album)
            }
            return .convert(job: id, recipe: recipe, streams: conversion.streams, album: conversion.album)
        case .measure(let recipe, _): return .measure(job: id, recipe: sent(recipe, configuration))
        case .probe(var options, _):
            options.nameHint = options.nameHint.map { Recipe.placeless($0, "source") }
            options.limits = configuration.limits(for: options.limits)
            return .probe(job: id, options)
        }
    }

    private func sent(_ recipe: Recipe, _ configuration: RoomConfiguration) -> Recipe {
        var recipe = recipe.withoutPlaces
        recipe.limits = configuration.limits(for: recipe.limits)
        return recipe
    }
}

/// Remembers that a job was cancelled, even if the slot has not received the job yet.
final class RoomTicket: Sendable {
    private let flag = Atomic<Bool>(false)

    func cancel() { flag.store(true, ordering: .releasing) }
    var isCancelled: Bool { flag.load(ordering: .acquiring) }
}

extension Failure {
    package static var cancelledBeforeItBegan: Failure {
        Failure(.cancelled, at: .open, "cancelled before it began")
    }
}
