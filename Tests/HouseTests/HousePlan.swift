/// The plan of the modules that the tests enforce: which module may import which, and where C may be imported.
///
/// `docs/architecture.md` documents the same plan.
enum HousePlan {
    /// For each folder under `Sources`, our modules that its files may import.
    static let arrows: [String: Set<String>] = [
        "System": [],
        "Hashing": [],
        "Conversion": [],
        "WebClient": [],
        "Media": ["Conversion", "System"],
        "Ledger": ["Conversion", "Hashing", "System"],
        "Storage": ["Conversion", "Hashing", "System"],
        "ObjectStorage": ["WebClient", "Conversion", "Hashing", "System"],
        "PumpRoom": ["Conversion", "System"],
        "RoomProgram": ["PumpRoom", "Media", "Conversion", "System"],
        "Publishing": ["Storage", "Ledger", "Conversion", "System"],
        "WorkerRules": ["Ledger", "Conversion"],
        "Worker": [
            "WorkerRules", "Publishing", "PumpRoom", "Storage", "ObjectStorage", "Ledger", "Conversion", "System",
        ],
        "Coordinator": ["Publishing", "WebClient", "Ledger", "Storage", "Conversion", "System"],
        "LocalCluster": ["Storage", "Ledger", "Hashing", "Conversion", "System"],
        "Console": ["Conversion", "System"],
        "HTTPServer": ["System"],
        "API": ["HTTPServer", "Storage", "Ledger", "Conversion", "System"],
        "Page": ["API", "HTTPServer", "Ledger", "Hashing", "Conversion"],
        "LedgerClient": ["API", "WebClient", "Ledger", "Conversion", "System"],
        "Command": [
            "LedgerClient", "Page", "API", "HTTPServer", "Console", "LocalCluster", "Worker", "Coordinator", "PumpRoom",
            "Storage", "Ledger",
            "ObjectStorage", "WebClient", "Conversion", "System",
        ],
        "sluice": ["Command"],
        "sluice-room": ["RoomProgram"],
    ]

    /// For each C module, the only folder whose files may import it.
    static let doors: [String: String] = [
        "CLibAV": "Sources/Media/LibAV",
        "CLoudness": "Sources/Media/Loudness",
        "CLibPQ": "Sources/Ledger/LibPQ",
        "CCrypto": "Sources/Hashing",
        "CSandbox": "Sources/PumpRoom/Sandbox",
        "CSystem": "Sources/System",
        "CMicroHTTPD": "Sources/HTTPServer/Serving",
        "CCurl": "Sources/WebClient/LibCurl",
        "CCommit": "Sources/Command/Commit",
    ]

    /// The names of the C library on several systems.
    static let platformModules: Set<String> = ["Glibc", "SwiftGlibc", "Musl", "Darwin", "Bionic", "Android"]

    /// The folders whose files may import the C library.
    static let platformFolders: Set<String> = [
        "Sources/Media/LibAV", "Sources/Media/Loudness", "Sources/Ledger/LibPQ", "Sources/WebClient/LibCurl",
        "Sources/PumpRoom", "Sources/RoomProgram", "Sources/Storage", "Sources/ObjectStorage", "Sources/LedgerClient",
        "Sources/Worker", "Sources/HTTPServer/Serving", "Sources/LocalCluster", "Sources/Console", "Sources/Command",
        "Sources/sluice", "Sources/sluice-room",
        "Sources/System",
    ]

    /// Everything that `Conversion` may import. It holds values only, so the list is short.
    static let conversionModules: Set<String> = ["Swift", "FoundationEssentials"]

    /// All modules of this package, whose imports the plan governs.
    static let ourModules = Set(arrows.keys).union(doors.keys).union(["TestSupport"])

    /// The folders that `Sources` may contain.
    static let folders = Set(arrows.keys).union(doors.keys)

    /// The folders of `names` that are not in the plan, sorted.
    static func unknownFolders(in names: some Sequence<String>) -> [String] {
        names.filter { !folders.contains($0) }.sorted()
    }
}
