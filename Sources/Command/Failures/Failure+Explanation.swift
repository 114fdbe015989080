import API
import Console
import Conversion

extension Failure {
    /// How to take the sound of a source as it is.
    enum Remedy {
        case command(String)
        /// A command that comes first, because the sound is edited or split.
        case first(String)
        /// A change of the recipe in this file.
        case recipe(String)

        fileprivate var line: String {
            switch self {
            case .command(let command): "to take the sound as it is: \(command)"
            case .first(let command): "to take the sound as it is, and then edit it: \(command)"
            case .recipe(let file):
                "to take the sound as it is: \"version\": 4 and \"damage\": "
                    + "\"\(DamageMode.trustPackets.rawValue)\" in \(file)"
            }
        }
    }

    /// Why the source was refused: the rule, what the source promises and what was found, and how to take its sound as it
    /// is. Of a failure that no rule about sources explains: what its code means.
    ///
    /// `remedy` is `nil` if the sound was taken as it is already.
    func explanation(_ remedy: Remedy?) -> [String] {
        var lines = contradiction?.lines ?? []
        if lines.isEmpty, let entry = known?.entry {
            lines = ["meaning: \(entry.meaning.unmarked)", "usual cause: \(entry.cause.unmarked)"]
        }
        if let remedy { lines.append(remedy.line) }
        return lines.map(\.printable)
    }

    /// Whether the packets may give sound that a rule refuses.
    fileprivate var mayBeTakenAsItIs: Bool { contradiction != nil || known == .implausibleLength }
}

extension Recipe {
    /// Whether `trust-packets` may give sound where this recipe failed. Damaged packets are not copied in any mode.
    func mayTrustPackets(in failure: Failure) -> Bool {
        let copies = outputs.contains { $0.format?.codec == .copy }
        let isDamaged = failure.contradiction?.known?.isOfContainer == false
        return failure.mayBeTakenAsItIs && damage != .trustPackets && scan == nil && !(copies && isDamaged)
    }

    /// Whether the recipe permits modes of damage that move sound: it neither edits nor splits it.
    var permitsMovedSound: Bool { timeline == nil && outputs.allSatisfy { $0.range == nil } }
}

extension Contradiction {
    /// The rule, what the source promises, and what was found.
    var lines: [String] {
        let meaning = known.map { "\($0.rawValue), \($0.meaning)" }
        return ["rule: \(meaning ?? rule)"] + (promised.map { ["promised: \($0)"] } ?? []) + ["found: \(found)"]
    }
}
