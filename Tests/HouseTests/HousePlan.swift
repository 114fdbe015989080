/// The plan of the house as the tests enforce it: which room may import which, and where C may stand.
///
/// `docs/architecture.md` draws the same plan for people.
enum HousePlan {
    /// For each folder under `Sources`, those of our modules that its files may import.
    static let arrows: [String: Set<String>] = [
        "Conversion": [],
        "Media": ["Conversion"],
        "Ledger": ["Conversion"],
        "Storage": ["Conversion"],
        "PumpRoom": ["Media", "Conversion"],
        "Publishing": ["Storage", "Ledger", "Conversion"],
        "Worker": ["Publishing", "PumpRoom", "Storage", "Ledger", "Conversion"],
        "Coordinator": ["Publishing", "Ledger", "Storage", "Conversion"],
        "Command": ["Worker", "Coordinator", "PumpRoom", "Storage", "Ledger", "Conversion"],
        "sluice": [
            "Command", "Worker", "Coordinator", "Publishing", "PumpRoom", "Storage", "Ledger", "Media", "Conversion",
        ],
    ]

    /// For each C door, the only folder whose files may import it.
    static let doors: [String: String] = [
        "CLibAV": "Sources/Media/LibAV",
        "CLibPQ": "Sources/Ledger/LibPQ",
        "CCrypto": "Sources/Storage/Digest",
        "CSandbox": "Sources/PumpRoom/Sandbox",
        "CTerminal": "Sources/Command/Terminal",
    ]

    /// The C library under its names on several systems.
    static let platformModules: Set<String> = ["Glibc", "SwiftGlibc", "Musl", "Darwin", "Bionic", "Android"]

    /// The folders whose files may import the C library.
    static let platformFolders: Set<String> = [
        "Sources/Media/LibAV", "Sources/Ledger/LibPQ", "Sources/PumpRoom", "Sources/Storage", "Sources/Worker",
        "Sources/Command", "Sources/sluice",
    ]

    /// All that `Conversion` may import. It holds values only, so the list is short.
    static let conversionModules: Set<String> = ["Swift", "FoundationEssentials"]

    /// Everything built here, whose imports the arrows govern.
    static let ourModules = Set(arrows.keys).union(doors.keys).union(["TestSupport"])

    /// The folders that may stand under `Sources`.
    static let folders = Set(arrows.keys).union(doors.keys)

    /// The folders of `names` that the plan does not know, in order of name.
    static func unknownFolders(in names: some Sequence<String>) -> [String] {
        names.filter { !folders.contains($0) }.sorted()
    }
}
