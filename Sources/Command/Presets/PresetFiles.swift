import Console
import Conversion
import Glibc
import Ledger

/// Presets in files: `NAME.json` in the user's folder, and in the machine's beside its settings.
enum PresetFiles {
    /// The user's folder, then the machine's.
    static func folders(_ environment: [String: String]) -> [String] {
        let settings = ServiceFile.named(environment) ?? ServiceFile.standardPath
        let machine = settings.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(settings[..<$0]) + "/" } ?? ""
        return [ContextFile.folder(environment).map { $0 + "/presets.d" }, machine + "presets.d"].compactMap(\.self)
    }

    /// The first file of this name; `nil` if there is none. Throws if it cannot be read, or describes no preset.
    static func preset(named name: String, _ environment: [String: String]) throws(Refusal) -> NamedPreset? {
        for folder in folders(environment) {
            let path = "\(folder)/\(name).json"
            // In a folder that this user may not enter, there is no preset for the user.
            guard access(path, F_OK) == 0 else { continue }
            return try read(path, name)
        }
        return nil
    }

    /// The names of all files, the user's first. Those that a preset cannot have are left out.
    static func names(_ environment: [String: String]) -> [String] {
        var known: Set<String> = []
        return folders(environment).flatMap { names(in: $0) }.filter { known.insert($0).inserted }
    }

    private static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while names.count < most, let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { letters in
                letters.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            let stem = String(name.dropLast(".json".count))
            if name.hasSuffix(".json"), PresetReference.isName(stem) { names.append(stem) }
        }
        return names.sorted()
    }

    /// Files of a folder that are looked at.
    private static let most = 1_000

    private static func read(_ path: String, _ name: String) throws(Refusal) -> NamedPreset {
        let text = try SmallFile.read(path, for: "a preset", isTrusted: true)
        do throws(RecipeError) {
            let preset = try OwnPreset(PresetReference(name: name), json: Array(text.utf8))
            return try NamedPreset(preset, file: path)
        } catch {
            let isName = error.path == "name"
            throw Refusal(
                message: "\(path.printable): \(isName ? error.reason : "\(error)")",
                hint: isName
                    ? "rename the file" : "\"sluice presets show podcast-mp3 --json\" prints a preset as files have it",
                exitCode: .configuration
            )
        }
    }
}

/// Offers the names of presets in files.
struct PresetFileNames: CandidateSource {
    func candidates(typed: String, words: [String], environment: [String: String]) -> [Completion.Candidate] {
        PresetFiles.names(environment).filter { $0.hasPrefix(typed) }.map { name in
            // `try?`: one that cannot be read is offered without a summary. The command that uses it says why.
            let preset = try? PresetFiles.preset(named: name, environment)
            return Completion.Candidate(word: name, summary: preset?.summary.printable ?? "")
        }
    }
}
