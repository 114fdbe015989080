import Conversion
import FoundationEssentials
import HTTPServer
import Ledger
import Storage

/// A job as a client asks for it.
struct JobLine: Decodable {
    var recipe: Recipe?
    var source: String?
    var output: String?
    var preset: String?
    var onConflict: Recipe.ConflictPolicy?
    var needs: [String]?
    var cost: Int32?
    var maxAttempts: Int16?
    var runAt: String?
    var labels: [String: String]?
    var stamp: SourceStamp?

    private enum Key: String, CaseIterable {
        case recipe, source, output, preset, onConflict, needs, cost, maxAttempts, runAt, labels, stamp
    }

    private static let decoder = JSONDecoder()

    /// Decodes strictly: a name that is not known is a mistake.
    init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: AnyKey.self)
        // In order, so that of two mistakes always the same one is told.
        for name in object.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) {
            switch Key(rawValue: name.stringValue) {
            case .recipe: recipe = try object.decodeIfPresent(Recipe.self, forKey: name)
            case .source: source = try object.decodeIfPresent(String.self, forKey: name)
            case .output: output = try object.decodeIfPresent(String.self, forKey: name)
            case .preset: preset = try object.decodeIfPresent(String.self, forKey: name)
            case .onConflict: onConflict = try object.decodeIfPresent(Recipe.ConflictPolicy.self, forKey: name)
            case .needs: needs = try object.decodeIfPresent([String].self, forKey: name)
            case .cost: cost = try object.decodeIfPresent(Int32.self, forKey: name)
            case .maxAttempts: maxAttempts = try object.decodeIfPresent(Int16.self, forKey: name)
            case .runAt: runAt = try object.decodeIfPresent(String.self, forKey: name)
            case .labels: labels = try object.decodeIfPresent([String: String].self, forKey: name)
            case .stamp: stamp = try object.decodeIfPresent(JSONRecord<SourceStamp>.self, forKey: name)?.record
            case nil:
                let known = Key.allCases.map(\.rawValue).joined(separator: ", ")
                throw DecodingError.dataCorrupted(
                    .init(codingPath: [name], debugDescription: "is not known; known: \(known)")
                )
            }
        }
    }

    /// Decodes one line.
    init(json bytes: some Collection<UInt8>) throws(RequestMaker.Mistake) {
        do {
            self = try Self.decoder.decode(JobLine.self, from: Data(bytes))
        } catch {
            throw RequestMaker.Mistake(error)
        }
        if let pointer = RepeatedMember.pointer(in: bytes) {
            throw RequestMaker.Mistake(pointer: pointer, detail: "is given twice")
        }
    }

    /// Decodes a value that was checked against the declared shape.
    init(_ value: JSONValue) throws(RequestMaker.Mistake) {
        let bytes: Data
        do {
            bytes = try JSONEncoder().encode(value)
        } catch {
            throw RequestMaker.Mistake(pointer: "", detail: "\(error)")
        }
        try self.init(json: bytes)
    }

    private struct AnyKey: CodingKey {
        let stringValue: String
        let intValue: Int?
        init?(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }
        init?(intValue: Int) { (stringValue, self.intValue) = ("\(intValue)", intValue) }
    }
}

/// Makes jobs of what clients ask for, and checks them.
///
/// Most jobs of a submission differ in their locations only, and everything else is checked once for them all.
struct RequestMaker {
    /// What is wrong with a job.
    struct Mistake: Error {
        /// A JSON pointer into the job.
        let pointer: String
        let detail: String
        /// Whether it is a destination that does not fit the tenant's template.
        var isDestination = false

        init(pointer: String, detail: String) { (self.pointer, self.detail) = (pointer, detail) }

        init(_ error: any Error) {
            guard let error = error as? DecodingError else {
                self.init(pointer: "", detail: "is not JSON")
                return
            }
            func pointer(_ path: [any CodingKey]) -> String {
                path.map { "/" + ($0.intValue.map { "\($0)" } ?? $0.stringValue) }.joined()
            }
            switch error {
            case .keyNotFound(let key, let context):
                self.init(pointer: pointer(context.codingPath + [key]), detail: "is missing")
            case .typeMismatch(_, let context), .valueNotFound(_, let context):
                self.init(pointer: pointer(context.codingPath), detail: "has the wrong type")
            case .dataCorrupted(let context):
                let known = context.underlyingError as? RecipeError
                let detail = known?.reason ?? (context.codingPath.isEmpty ? "is not JSON" : context.debugDescription)
                self.init(pointer: pointer(context.codingPath), detail: detail)
            @unknown default: self.init(pointer: "", detail: "is not JSON")
            }
        }
    }

    /// What was checked, with empty locations, and the abilities that its codecs need.
    private struct Form {
        let recipe: Recipe
        let extensions: [Substring]
        let needs: [String]
    }

    /// Where the outputs go, if that is not the client's choice.
    private var rule: DestinationRule?
    private var forms: [Form] = []
    private static let formLimit = 8

    /// Told of the limits that recipes ask for.
    private let limits: ClampedLimits?

    /// The presets of the ledger that the caller may use.
    private let presets: [String: OwnPreset]

    init(_ rule: DestinationRule? = nil, _ limits: ClampedLimits? = nil, _ presets: [NamedPreset] = []) {
        (self.rule, self.limits) = (rule, limits)
        // `try?`: one that this build cannot read is none.
        let own = presets.compactMap { try? $0.own() }
        self.presets = Dictionary(own.map { ($0.reference.name, $0) }) { first, _ in first }
    }

    /// Whether a job names a preset that is not built in.
    static func needsPresets(_ lines: [JSONValue]) -> Bool {
        lines.contains { line in
            guard let name = line.members?["preset"]?.text?.lowercased() else { return false }
            return !Preset.all.contains { $0.name == name }
        }
    }

    mutating func make(_ line: JobLine) throws(Mistake) -> JobRequest {
        var line = line
        try settleDestination(of: &line)
        let recipe = try recipe(line)
        limits?.note(recipe.limits)
        var roots: Set<String> = []
        for (index, source) in recipe.sources.enumerated() {
            roots.insert(try Self.root(of: source.location, at: "/recipe/sources/\(index)/location"))
        }
        for (index, output) in recipe.outputs.enumerated() {
            roots.insert(
                try Self.root(of: output.location, at: "/recipe/outputs/\(index)/location", isDestination: true)
            )
        }
        let codecs = try needs(of: recipe)
        if let cost = line.cost, cost < 1 { throw Mistake(pointer: "/cost", detail: "must be 1 or more") }
        if let attempts = line.maxAttempts, !LedgerRules.attempts.contains(Int(attempts)) {
            let most = LedgerRules.attempts.upperBound
            throw Mistake(pointer: "/maxAttempts", detail: "must be from 1 to \(most)")
        }
        var runAt: Date?
        if let text = line.runAt {
            guard let date = Moments.date(text) else {
                throw Mistake(pointer: "/runAt", detail: "must be a time such as 2026-11-20T09:31:04Z")
            }
            runAt = date
        }
        if let stamp = line.stamp, stamp.bytes < 0 {
            throw Mistake(pointer: "/stamp/bytes", detail: "must be 0 or more")
        }
        let known = codecs + roots.sorted().map { AbilityWord.root($0) }
        return JobRequest(
            recipe,
            cost: line.cost,
            needs: known + (line.needs ?? []).filter { !known.contains($0) },
            maxAttempts: line.maxAttempts,
            runAt: runAt,
            labels: line.labels ?? [:],
            stamp: line.stamp
        )
    }

    /// Makes the destination that a job leaves out, or checks those that it names.
    private mutating func settleDestination(of line: inout JobLine) throws(Mistake) {
        guard rule != nil else { return }
        // Whether what is wrong is wrong without a template too, and has the same code then.
        var isOfJob = false
        do throws(Mistake) {
            if let recipe = line.recipe {
                for (index, output) in recipe.outputs.enumerated() {
                    try rule?.check(output.location, at: "/recipe/outputs/\(index)/location")
                }
            } else if let output = line.output {
                try rule?.check(output, at: "/output")
            } else if let source = line.source {
                isOfJob = true
                _ = try Self.root(of: source, at: "/source")
                let format = try line.preset.map { (name) throws(Mistake) in try self.format(ofPreset: name) }
                isOfJob = false
                line.output = try rule?.destination(for: source, preset: line.preset, format)
            }
        } catch {
            var mistake = error
            mistake.isDestination = !isOfJob
            throw mistake
        }
    }

    private func recipe(_ line: JobLine) throws(Mistake) -> Recipe {
        if let recipe = line.recipe {
            for (name, value) in [("source", line.source), ("output", line.output), ("preset", line.preset)]
            where value != nil { throw Mistake(pointer: "/\(name)", detail: "cannot be combined with a recipe") }
            if line.onConflict != nil { throw Mistake(pointer: "/onConflict", detail: "belongs into the recipe") }
            return recipe
        }
        guard let source = line.source else { throw Mistake(pointer: "/source", detail: "is missing") }
        guard let output = line.output else { throw Mistake(pointer: "/output", detail: "is missing") }
        let conflicts = line.onConflict ?? .fail
        if let preset = line.preset.flatMap(own) {
            let made = preset.output(at: output, onConflict: conflicts)
            var recipe = Recipe(from: Recipe.Source(location: source), to: made)
            preset.settle(&recipe)
            return recipe
        }
        return Recipe(
            from: Recipe.Source(location: source),
            to: Recipe.Output(location: output, preset: line.preset, onConflict: conflicts)
        )
    }

    /// The preset of the ledger with this name, unless a built-in one has it.
    private func own(_ name: String) -> OwnPreset? {
        let name = name.lowercased()
        return Preset.all.contains { $0.name == name } ? nil : presets[name]
    }

    /// Says of an unknown preset what a recipe would.
    private func format(ofPreset name: String) throws(Mistake) -> AudioFormat {
        if let own = own(name) { return own.format }
        do {
            return try Preset.named(name).format
        } catch {
            throw Mistake(pointer: "/preset", detail: "\(error)")
        }
    }

    private static func root(
        of text: String,
        at pointer: String,
        isDestination: Bool = false
    ) throws(Mistake) -> String {
        do {
            let location = try Location(text)
            return try (isDestination ? location.asDestination() : location).root
        } catch {
            throw Mistake(pointer: pointer, detail: error.detail)
        }
    }

    private mutating func needs(of recipe: Recipe) throws(Mistake) -> [String] {
        var bare = recipe
        for index in bare.sources.indices { bare.sources[index].location = "" }
        for index in bare.outputs.indices { bare.outputs[index].location = "" }
        let extensions = recipe.outputs.map { Self.fileExtension($0.location) }
        if let form = forms.last(where: { $0.extensions == extensions && $0.recipe == bare }) {
            // Equal locations of one job are the only mistake that depends on them.
            var places: Set<String> = []
            for place in recipe.sources.map(\.location) + recipe.outputs.map(\.location)
            where !places.insert(place).inserted && recipe.outputs.contains(where: { $0.location == place }) {
                throw Mistake(pointer: "/recipe", detail: "\(place) is named twice")
            }
            return form.needs
        }
        do {
            try recipe.validate()
            let codecs = Set(try recipe.soundOutputs.map { (output) throws(RecipeError) in try output.codec })
            let needs = codecs.filter { $0 != .copy }.map { AbilityWord.codec($0) }.sorted()
            if forms.count == Self.formLimit { forms.removeFirst() }
            forms.append(Form(recipe: bare, extensions: extensions, needs: needs))
            return needs
        } catch {
            let pointer = error.path.replacing("[", with: "/").replacing("]", with: "").replacing(".", with: "/")
            throw Mistake(pointer: "/" + pointer, detail: error.reason)
        }
    }

    /// With its dot; empty if the name has none.
    private static func fileExtension(_ location: String) -> Substring {
        let last = location.utf8.lastIndex { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "/") }
        guard let last, location.utf8[last] == UInt8(ascii: ".") else { return "" }
        return location[last...]
    }
}

/// The jobs of a body of JSON Lines, while it arrives.
struct JobLines: AsyncSequence, Sendable {
    typealias Element = JobRequest

    let body: BodyStream
    /// Whether a body without jobs is passed on; otherwise it is a mistake.
    var mayBeEmpty = false
    var rule: DestinationRule?
    var limits: ClampedLimits?
    var presets: [NamedPreset] = []
    /// A line may be as long as a recipe.
    private static let longestLine = 256 << 10
    private static let slice = 16 << 10

    func makeAsyncIterator() -> Iterator {
        Iterator(body: body.makeAsyncIterator(), maker: RequestMaker(rule, limits, presets), mayBeEmpty: mayBeEmpty)
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate var body: BodyStream.Iterator
        private var rest: [UInt8] = []
        /// Where the next line begins in `rest`.
        private var place = 0
        private var isOver = false
        private var number = 0
        /// About how many bytes were read since others had the thread.
        private var unshared = 0
        private var maker: RequestMaker
        private let mayBeEmpty: Bool

        fileprivate init(body: BodyStream.Iterator, maker: RequestMaker, mayBeEmpty: Bool) {
            (self.body, self.maker, self.mayBeEmpty) = (body, maker, mayBeEmpty)
        }

        mutating func next() async throws -> JobRequest? {
            while let line = try await nextLine() {
                number += 1
                // Tasks share few threads: a body that comes quickly leaves them to others now and then.
                unshared += line.count + 256
                if unshared > JobLines.slice {
                    unshared = 0
                    await Task.yield()
                }
                if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") }) { continue }
                do throws(RequestMaker.Mistake) {
                    return try maker.make(JobLine(json: line))
                } catch {
                    throw Problem(
                        error.isDestination ? .badDestination : .badBody,
                        "line \(number) is not right; nothing was submitted",
                        mistakes: [.init(pointer: error.pointer, detail: error.detail)]
                    )
                }
            }
            guard number > 0 || mayBeEmpty else { throw Problem(.badBody, "there are no jobs") }
            return nil
        }

        private mutating func nextLine() async throws -> ArraySlice<UInt8>? {
            while true {
                if let end = rest[place...].firstIndex(of: UInt8(ascii: "\n")) {
                    defer { place = end + 1 }
                    return rest[place..<end]
                }
                if isOver {
                    guard place < rest.count else { return nil }
                    defer { place = rest.count }
                    return rest[place...]
                }
                rest.removeFirst(place)
                place = 0
                guard rest.count <= JobLines.longestLine else {
                    var problem = Problem(
                        .bodyTooLarge,
                        "line \(number + 1) has more than \(JobLines.longestLine) bytes"
                    )
                    problem.hint = "each line is one job, which may be this long"
                    throw problem
                }
                if let piece = try await body.next() { rest += piece } else { isOver = true }
            }
        }
    }
}
