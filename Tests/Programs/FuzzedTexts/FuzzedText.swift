import API
import Command
import Conversion
import HTTPServer
import Ledger
import PumpRoom
import Storage

/// The readers of outside text, with the invariants that hold for any text.
///
/// A violated invariant ends the process, like a trap in a reader.
package enum FuzzedText: UInt8, CaseIterable, Sendable {
    /// A command line, its words separated by NUL: all options of all commands.
    case words
    /// A list of files, as `--files-from` reads it.
    case list
    /// A path on this machine, optionally preceded by a glob and a NUL.
    case path
    /// A location in a recipe.
    case location
    /// A destination template.
    case template
    /// The rules of a root.
    case rules
    /// A recipe as JSON.
    case recipe
    /// A time.
    case time
    /// The address of a ledger, alone or within a sentence.
    case address
    /// The filter of `sluice watch`, as a user types it.
    case filter
    /// The bytes that a terminal sends.
    case keys
    /// JSON that a command passes on.
    case json
    /// A room's reply.
    case reply
    /// A slot's request to a room.
    case request
    /// What an HTTP request says about a file: its path, its digest, or a range of its bytes.
    case file

    /// Reads `bytes`, whose first byte chooses the reader. Returns the reader and whether it accepted the text.
    @discardableResult
    package static func read(_ bytes: [UInt8]) -> (reader: FuzzedText, isTaken: Bool) {
        let reader = allCases[Int(bytes.first ?? 0) % allCases.count]
        return (reader, reader.takes(Array(bytes.dropFirst())))
    }

    /// `bytes` after the byte that chooses this reader.
    package func input(_ bytes: some Sequence<UInt8>) -> [UInt8] { [rawValue] + bytes }

    private func takes(_ bytes: [UInt8]) -> Bool {
        switch self {
        case .list: return Self.readList(bytes)
        case .reply: return Self.readReply(bytes)
        case .request: return Self.readRequest(bytes)
        case .recipe: return Self.readRecipe(bytes)
        case .keys: return Self.readKeys(bytes)
        default: break
        }
        // Text that is not UTF-8 never reaches these readers: the command refuses such words, and the ledger
        // cannot hold them.
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        switch self {
        case .words: return Self.readWords(text)
        case .path: return Self.readPath(text)
        case .location: return Self.readLocation(text)
        case .template: return Self.readTemplate(text)
        case .rules: return Self.readRules(text)
        case .time: return Self.readTime(text)
        case .address: return Self.readAddress(text)
        case .filter: return Self.readFilter(text)
        case .file: return Self.readFile(text)
        default: return Self.readJson(text)
        }
    }

    private static func require(_ holds: Bool, _ what: @autoclosure () -> String) {
        if !holds { fatalError(what()) }
    }

    /// The result of work that must not fail here.
    private static func succeed<Value>(_ what: String, _ work: () throws -> Value) -> Value {
        do {
            return try work()
        } catch {
            fatalError("\(what): \(error)")
        }
    }

    private static func same(_ one: String, _ other: String) -> Bool { one.utf8.elementsEqual(other.utf8) }

    // MARK: - Command lines, lists, paths

    private static func readWords(_ text: String) -> Bool {
        let words = text.unicodeScalars.split(separator: "\0", omittingEmptySubsequences: false).map { String($0) }
        let typed = words.last ?? ""
        let offer = TextReading.offers(words)
        require(typed.hasPrefix(offer.prefix), "\"\(offer.prefix)\" is offered for \"\(typed)\"")
        for word in offer.words {
            require((offer.prefix + word).hasPrefix(typed), "\"\(word)\" is offered for \"\(typed)\"")
        }
        let read = TextReading.words(words)
        require(read == TextReading.words(words), "the same words mean two things")
        switch read {
        case .help, .version: return true
        case .refused(let message, let hint):
            require(!message.isEmpty, "a refusal without a reason")
            // The message quotes a word, with at most every byte as an escape; the rest has a constant length.
            let length = message.utf8.count + (hint?.utf8.count ?? 0)
            require(length <= 4_096 + 32 * text.utf8.count, "a refusal of \(length) bytes")
            require(
                !(message + (hint ?? "")).unicodeScalars.contains(where: \.isUnprintable),
                "a refusal that a terminal obeys"
            )
            return false
        case .understood(_, let recipe):
            if let recipe { expectToComeBack(recipe) }
            return true
        }
    }

    private static func readList(_ bytes: [UInt8]) -> Bool {
        for byNull in [false, true] {
            let items = TextReading.list(bytes, byNull: byNull)
            let end = byNull ? UInt8(0) : UInt8(ascii: "\n")
            require(items.count <= (bytes.count + 1) / 2, "\(items.count) paths in \(bytes.count) bytes")
            for item in items {
                let path = Array((item.path ?? "x").utf8)
                require(!path.isEmpty && !path.contains(end), "\(path) in a list")
                require(item.path == nil || same(item.path!, item.shown), "\(item.shown) is shown for \(path)")
            }
            // Written as a list again, the paths are the same. The exception is a path that ends in CR, which
            // looks like a line break.
            let paths = items.compactMap(\.path)
            guard paths.count == items.count, byNull || !paths.contains(where: { $0.utf8.last == UInt8(ascii: "\r") })
            else { continue }
            let again = TextReading.list(paths.flatMap { Array($0.utf8) + [end] }, byNull: byNull)
            require(again.count == paths.count, "\(again.count) of \(paths.count) paths")
            for (one, other) in zip(again, paths) { require(same(one.shown, other), "\(one.shown) for \(other)") }
        }
        return !bytes.isEmpty
    }

    private static func readPath(_ text: String) -> Bool {
        let parts = text.unicodeScalars.split(separator: "\0", maxSplits: 1).map { String($0) }
        guard let path = parts.last else { return false }
        if parts.count == 2 { _ = TextReading.takes(path, glob: parts[0]) }
        // A refusal is a valid result.
        guard let location = try? TextReading.location(ofPath: path) else { return false }
        expectToBeAPlace(location)
        // The location leads the kernel to the same file as the path.
        let root = location.root == "in" ? "/srv/in/" : "/"
        // A refusal gives `nil`, which fails the comparison below.
        let again = try? TextReading.location(ofPath: root + location.path)
        require(again == location, "\(path) is \(location), which is \(again.map { "\($0)" } ?? "nothing")")
        return true
    }

    private static func readLocation(_ text: String) -> Bool {
        // A refusal is a valid result.
        guard let location = try? Location(text) else { return false }
        expectToBeAPlace(location)
        return true
    }

    private static func expectToBeAPlace(_ location: Location) {
        let again = succeed("\(location)") { try Location("\(location)") }
        require(again == location && same(again.path, location.path), "\(location) is \(again)")
        let names = location.path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for name in names { require(!["", ".", ".."].contains(String(Substring(name))), "\(location)") }
        let whole = location.folder.isEmpty ? location.name : location.folder + "/" + location.name
        require(same(whole, location.path), "\(location) is \(location.name) in \(location.folder)")
        require(!location.name.utf8.contains(UInt8(ascii: "/")), "\(location) has the name \(location.name)")
        require(!location.path.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }, "\(location)")
    }

    private static func readFile(_ text: String) -> Bool {
        var isTaken = false
        for length in [0, 1, 1_000, Int64.max] {
            if case .part(let part) = ByteRange(text, of: length) {
                require(!part.isEmpty && part.lowerBound >= 0 && part.upperBound <= length, "\(text) is \(part)")
                isTaken = true
            }
        }
        // A refusal is a valid result.
        if let digest = try? DigestField.sha256(in: text) {
            require(digest.count == 32, "\(text) is a digest of \(digest.count) bytes")
            let again = succeed(text) { try DigestField.sha256(in: DigestField.text(digest)) }
            require(again == digest, "\(text) is two digests")
            isTaken = true
        }
        if let place = try? FilePlace.location(root: "in", path: text) {
            expectToBeAPlace(place)
            require(same(place.path, text), "\(text) is \(place)")
            isTaken = true
        }
        return isTaken
    }

    private static func readTemplate(_ text: String) -> Bool {
        let made = TextReading.template(text)
        if let made {
            let again = succeed("the template \(made.text)") { try DestinationTemplate(made.text) }
            require(same(again.text, made.text), "\(made.text) is \(again.text)")
        }
        // A refusal is a valid result.
        guard let template = made ?? (try? DestinationTemplate(text)) else { return false }
        for source in ["in:2024/live/a.b.wav", "in:\u{301}é/\u{301}.wav"] {
            let source = succeed(source) { try Location(source) }
            // The template may name a field that has no value here.
            guard let place = try? template.location(for: source, ext: "flac", preset: nil, id: 7) else { continue }
            expectToBeAPlace(place)
            let most = template.text.utf8.count * (source.path.utf8.count + 2)
            require(place.path.utf8.count <= most, "\(place) of \(template.text)")
        }
        return true
    }

    private static func readRules(_ text: String) -> Bool {
        guard let rules = RootRules(text) else { return false }
        let words = rules.words
        let again = RootRules(words)
        require(words.isEmpty && rules == RootRules() || again == rules, "\(text) is \(words)")
        require(words.utf8.count <= 16 + 4 * text.utf8.count, "\(words)")
        return true
    }

    // MARK: - Recipes, times, JSON

    private static func readRecipe(_ bytes: [UInt8]) -> Bool {
        guard let recipe = try? Recipe(json: bytes) else { return false }
        expectToComeBack(recipe)
        return true
    }

    private static func expectToComeBack(_ recipe: Recipe) {
        // A validation error is a valid result as well.
        _ = try? recipe.validate()
        for output in recipe.outputs { _ = try? output.codec }
        for range in recipe.sources.flatMap(\.ranges) { _ = (range.duration, range.isOpenEnded) }
        // Recipes refuse a number that JSON cannot represent.
        guard let written = try? recipe.json() else { return }
        let again = succeed(written) { try Recipe(json: written) }
        require(again == recipe, "\(written) is another recipe")
        require(succeed(written) { try again.json() } == written, "\(written) is written in two ways")
    }

    private static func readTime(_ text: String) -> Bool {
        // A refusal is a valid result.
        guard let time = try? MediaTime(parsing: text) else {
            return (try? MediaTime(rationalDescription: text)) != nil
        }
        let exact = succeed(text) { try MediaTime(rationalDescription: time.rationalDescription) }
        require(exact == time && exact.hasBeenRounded == time.hasBeenRounded, "\(text) is \(time), and then \(exact)")
        // About three centuries: beyond that, 64 bits in billionths of a second cannot hold the precision that is
        // shown.
        guard abs(time.seconds) < 9e9 else { return true }
        let shown = succeed("\(time)") { try MediaTime(parsing: "\(time)") }
        require("\(shown)" == "\(time)", "\(time) is shown as \(shown)")
        return true
    }

    private static func readAddress(_ text: String) -> Bool {
        let hidden = PasswordField.hidden(in: text)
        require(hidden.utf8.count <= 16 + 4 * text.utf8.count, "\(hidden.utf8.count) bytes of an address")
        // Only a trap is a defect here.
        _ = try? SchemaName(text)
        // libpq parses the address; a refusal is a valid result.
        guard let configuration = try? LedgerConfiguration(url: text) else { return false }
        _ = configuration.description
        return true
    }

    private static func readFilter(_ text: String) -> Bool {
        guard let words = TextReading.filter(text) else { return false }
        let again = TextReading.filter(words)
        require(again.map { same($0, words) } ?? false, "\(text) is \(words), and then \(again ?? "refused")")
        return true
    }

    private static func readKeys(_ bytes: [UInt8]) -> Bool {
        let count = TextReading.keys(bytes)
        require(count <= bytes.count, "\(count) keys of \(bytes.count) bytes")
        return count > 0
    }

    private static func readJson(_ text: String) -> Bool {
        let line = succeed("JSON") { try TextReading.json(text) }
        require(!line.unicodeScalars.contains(where: \.isUnprintable), "\(line.debugDescription) is no line")
        // A fraction beyond the precision of a Double is an integer the second time and is written as one.
        let again = succeed("JSON") { try TextReading.json(line) }
        require(succeed("JSON") { try TextReading.json(again) } == again, "\(again) is another value")
        return true
    }

    // MARK: - Rooms

    private static func readReply(_ bytes: [UInt8]) -> Bool {
        guard let believed = succeed("a reply", { try WireReading.reply(bytes) }) else { return false }
        require(succeed("a reply") { try WireReading.reply(believed) } == believed, "a reply that changes")
        return true
    }

    private static func readRequest(_ bytes: [UInt8]) -> Bool {
        guard let read = succeed("a request", { try WireReading.request(bytes) }) else { return false }
        require(succeed("a request") { try WireReading.request(read) } == read, "a request that changes")
        return true
    }
}
