// swift-tools-version: 6.2
import PackageDescription

// Warnings are errors in CI and in `make lint`, where they would otherwise go unread.
let warningsAreErrors = Context.environment["CI"] != nil || Context.environment["SLUICE_STRICT"] != nil

// How many partial solutions of an expression the type checker may try, which takes it about 150 ms; an expression that
// needs more needs types. It is a count because a busy machine takes several times as long for the same expression.
let mostTypeCheckerScopes = 10_000

// Set by `make fuzz`, which builds in a separate folder because every module is instrumented.
let isFuzzed = Context.environment["SLUICE_FUZZ"] != nil

// Settings for tools that run during the build, which have no fuzzer to link with.
let tool: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ]
    + (warningsAreErrors
        ? [
            .treatAllWarnings(as: .error),
            .unsafeFlags(["-Xfrontend", "-solver-scope-threshold=\(mostTypeCheckerScopes)"]),
        ] : [])

let house = tool + (isFuzzed ? [.unsafeFlags(["-sanitize=fuzzer"])] : [])

// The commit of a build that is shipped (see scripts/commit), for one file of C. Other builds have none, so a new commit makes
// nothing compile again.
let commit = Context.environment["SLUICE_COMMIT"] ?? ""

// The path of this folder in debug information.
let pathMap = "\(Context.packageDirectory)=."

// For what the two programs consist of. C that is compiled with it, which is the inline functions of the C modules, checks its
// stack like Debian's own packages. A release does not say where it was built, so that two builds of one commit are the same
// bytes; the cache of C modules, to which debug information would refer, has that folder in its names, and so have the hashes by
// which the compiler finds what it need not compile again.
let shipped =
    house + [
        .unsafeFlags(
            [
                "-Xcc", "-fstack-protector-strong", "-Xfrontend", "-no-clang-module-breadcrumbs",
                "-Xfrontend", "-disable-incremental-llvm-codegen",
                "-file-prefix-map", pathMap, "-Xcc", "-ffile-prefix-map=\(pathMap)",
            ],
            .when(configuration: .release)
        )
    ]

// For C of tests that replaces no function of the C library.
let hardenedC: [CSetting] = [
    .unsafeFlags(["-fstack-protector-strong"]), .define("_FORTIFY_SOURCE", to: "2", .when(configuration: .release)),
]

// For modules that compute so much that their tests would take minutes without it. Release builds do it anyway.
let optimised: [SwiftSetting] = [.unsafeFlags(["-O"])]

let package = Package(
    name: "sluice",
    products: [
        .executable(name: "sluice", targets: ["sluice"]),
        .executable(name: "sluice-room", targets: ["sluice-room"]),
        .library(name: "Media", targets: ["Media", "Conversion"]),
        .library(name: "warm-start", type: .dynamic, targets: ["WarmStart"]),
    ],
    targets: [
        // C modules: a module map and a shim for what Swift cannot import. No logic.
        .systemLibrary(
            name: "CLibAV",
            pkgConfig: "libavformat",
            providers: [.apt(["libavformat-dev", "libavcodec-dev", "libswresample-dev", "libavutil-dev"])]
        ),
        .systemLibrary(name: "CLoudness", pkgConfig: "libebur128", providers: [.apt(["libebur128-dev"])]),
        .systemLibrary(name: "CSystem"),
        .systemLibrary(
            name: "CSandbox",
            pkgConfig: "libseccomp",
            providers: [.apt(["libseccomp-dev"])]
        ),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CMicroHTTPD",
            pkgConfig: "libmicrohttpd",
            providers: [.apt(["libmicrohttpd-dev"])]
        ),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),

        // Holds the commit of this build for Command: a value that a setting of Swift cannot hand in.
        .target(
            name: "CCommit",
            publicHeadersPath: ".",
            cSettings: [
                .unsafeFlags(
                    ["-fstack-protector-strong", "-ffile-prefix-map=\(pathMap)"],
                    .when(configuration: .release)
                )
            ] + (commit.isEmpty ? [] : [.define("SLUICE_COMMIT", to: commit)])
        ),

        // The modules, from the bottom up.
        .target(name: "System", dependencies: ["CSystem"], swiftSettings: shipped),
        .target(name: "Hashing", dependencies: ["CCrypto"], swiftSettings: shipped),
        // Media computes samples, with the times of Conversion: without optimisation, its tests take three times as long.
        .target(
            name: "Media",
            dependencies: ["Conversion", "System", "CLibAV", "CLoudness"],
            swiftSettings: shipped + optimised
        ),
        .target(name: "Conversion", swiftSettings: shipped + optimised),
        .target(
            name: "Ledger",
            dependencies: ["Conversion", "Hashing", "System", "CLibPQ"],
            exclude: ["Migrating/files"],
            swiftSettings: shipped,
            plugins: ["EmbedMigrations"]
        ),
        .target(name: "Storage", dependencies: ["Conversion", "Hashing", "System"], swiftSettings: shipped),
        .target(name: "WebClient", dependencies: ["CCurl"], swiftSettings: shipped),
        .target(
            name: "ObjectStorage",
            dependencies: ["WebClient", "Conversion", "Hashing", "System"],
            swiftSettings: shipped
        ),
        // Starts rooms, which are processes of `sluice-room`: the command and its modules do not link libav.
        .target(name: "PumpRoom", dependencies: ["Conversion", "System", "CSandbox"], swiftSettings: shipped),
        .target(
            name: "RoomProgram",
            dependencies: ["PumpRoom", "Media", "Conversion", "System"],
            swiftSettings: shipped
        ),
        .target(
            name: "Publishing",
            dependencies: ["Storage", "Ledger", "Conversion", "System"],
            swiftSettings: shipped
        ),
        // Decides what a worker does, also in the lease model, which takes millions of steps: optimised in debug builds,
        // too.
        .target(name: "WorkerRules", dependencies: ["Ledger", "Conversion"], swiftSettings: shipped + optimised),
        .target(
            name: "Worker",
            dependencies: [
                "WorkerRules", "Publishing", "PumpRoom", "Storage", "ObjectStorage", "Ledger", "Conversion",
                "System",
            ],
            swiftSettings: shipped
        ),
        .target(
            name: "Coordinator",
            dependencies: ["Publishing", "WebClient", "Ledger", "Storage", "Conversion", "System"],
            swiftSettings: shipped
        ),
        .target(
            name: "LocalCluster",
            dependencies: ["Storage", "Ledger", "Hashing", "Conversion", "System"],
            swiftSettings: shipped
        ),
        .target(name: "Console", dependencies: ["Conversion", "System"], swiftSettings: shipped),
        .target(name: "HTTPServer", dependencies: ["System", "CMicroHTTPD"], swiftSettings: shipped),
        .target(
            name: "API",
            dependencies: ["HTTPServer", "Storage", "Ledger", "Conversion", "System"],
            swiftSettings: shipped
        ),
        .target(
            name: "Page",
            dependencies: ["API", "HTTPServer", "Ledger", "Hashing", "Conversion"],
            exclude: ["Assets/files"],
            swiftSettings: shipped,
            plugins: ["EmbedAssets"]
        ),
        .target(
            name: "LedgerClient",
            dependencies: ["API", "WebClient", "Ledger", "Conversion", "System"],
            swiftSettings: shipped
        ),
        .target(
            name: "Command",
            dependencies: [
                "LedgerClient", "Page", "API", "HTTPServer", "Console", "LocalCluster", "Worker", "Coordinator",
                "PumpRoom",
                "Storage", "Ledger",
                "ObjectStorage", "WebClient", "Conversion", "System", "CCommit",
            ],
            swiftSettings: shipped
        ),
        .executableTarget(name: "sluice", dependencies: ["Command"], swiftSettings: shipped),
        .executableTarget(name: "sluice-room", dependencies: ["RoomProgram"], swiftSettings: shipped),

        // Embeds the files of `migrations` as Swift source; a build regenerates it when one of them has changed.
        .executableTarget(name: "embed-migrations", path: "Plugins/embed-migrations", swiftSettings: tool),
        .plugin(name: "EmbedMigrations", capability: .buildTool(), dependencies: ["embed-migrations"]),
        // The same for the style sheets and scripts of the page.
        .executableTarget(name: "embed-assets", path: "Plugins/embed-assets", swiftSettings: tool),
        .plugin(name: "EmbedAssets", capability: .buildTool(), dependencies: ["embed-assets"]),

        // Computes and measures minutes of samples: optimised in debug builds, too, so that test modules need not be.
        .target(
            name: "TestSupport",
            dependencies: ["CSystem", "CLoudness"],
            path: "Tests/TestSupport",
            swiftSettings: house + optimised
        ),
        // Keeps programs that tests start a thousand times loaded: preloaded into them, never linked.
        .target(name: "WarmStart", path: "Tests/Programs/WarmStart", cSettings: hardenedC),
        .executableTarget(
            name: "demo",
            dependencies: ["Media", "Conversion", "TestSupport", "sluice", "sluice-room"],
            path: "Demo",
            swiftSettings: house + optimised
        ),
        // What tests do in separate processes, which they kill, lock or measure, or which a trap may end.
        .executableTarget(
            name: "test-program",
            dependencies: [
                "Command", "RoomProgram", "PumpRoom", "Conversion", "FuzzedTexts", "HostileActions", "TestSupport",
            ],
            path: "Tests/Programs/TestProgram",
            swiftSettings: house
        ),
        .executableTarget(
            name: "media-program",
            dependencies: ["Media", "Conversion", "AllocationCounter", "TestSupport"],
            path: "Tests/Programs/MediaProgram",
            swiftSettings: house
        ),
        // Tests start it a thousand times and count its system calls, so it links little.
        .executableTarget(
            name: "storage-process",
            dependencies: ["Storage", "Conversion"],
            path: "Tests/Programs/StorageProcess",
            swiftSettings: house
        ),
        // The parsers of untrusted text with their invariants: for fuzzing, and for a process that a trap may end.
        .target(
            name: "FuzzedTexts",
            dependencies: [
                "Command", "API", "HTTPServer", "PumpRoom", "Storage", "Ledger", "Conversion", "TestSupport",
            ],
            path: "Tests/Programs/FuzzedTexts",
            swiftSettings: house
        ),
        // An object store for tests, in a process of its own.
        .target(
            name: "ObjectStores",
            dependencies: ["ObjectStorage", "WebClient", "TestSupport"],
            path: "Tests/Programs/ObjectStores",
            swiftSettings: house
        ),
        // Counts malloc's allocations.
        .target(name: "AllocationCounter", path: "Tests/Programs/AllocationCounter"),
        // What a compromised decoder would try, in a process that is locked like a room. No product links it.
        .target(name: "HostileActions", path: "Tests/Programs/HostileActions", cSettings: hardenedC),
        // The command with breakable rooms, whose program is `poisoned-sluice-room`: a marker in a file's samples has the
        // effect of a fault in a decoder.
        .target(name: "PoisonedReads", path: "Tests/Programs/PoisonedReads"),
        .executableTarget(
            name: "poisoned-sluice",
            dependencies: ["Command"],
            path: "Tests/Programs/PoisonedSluice",
            swiftSettings: house
        ),
        .executableTarget(
            name: "poisoned-sluice-room",
            dependencies: ["RoomProgram", "PoisonedReads"],
            path: "Tests/Programs/PoisonedRoom",
            swiftSettings: house
        ),
        // Names that the bench shares with the program that it measures.
        .target(name: "BenchNames", dependencies: ["Conversion"], path: "Benches/names", swiftSettings: house),
        .executableTarget(
            name: "bench",
            dependencies: ["BenchNames", "WorkerRules", "Ledger", "Conversion", "TestSupport"],
            path: "Benches/bench",
            swiftSettings: house
        ),
        // Separate from the bench, so that the measured program links nothing but Media.
        .executableTarget(
            name: "bench-ours",
            dependencies: ["BenchNames", "Media", "Conversion"],
            path: "Benches/ours",
            swiftSettings: house
        ),
        .testTarget(name: "HouseTests", dependencies: ["TestSupport"], swiftSettings: house),
        .testTarget(
            name: "PumpRoomTests",
            dependencies: [
                "RoomProgram", "PumpRoom", "Storage", "Ledger", "Media", "Conversion", "System", "TestSupport",
                "sluice", "sluice-room", "test-program",
            ],
            swiftSettings: house
        ),
        .testTarget(
            name: "HTTPServerTests",
            dependencies: ["HTTPServer", "System", "TestSupport"],
            swiftSettings: house
        ),
        .testTarget(
            name: "APITests",
            dependencies: ["API", "HTTPServer", "Ledger", "Conversion", "TestSupport"],
            swiftSettings: house
        ),
        .testTarget(
            name: "PageTests",
            dependencies: ["Page", "API", "HTTPServer", "Ledger", "Conversion"],
            swiftSettings: house
        ),
        .testTarget(
            name: "LedgerClientTests",
            dependencies: ["LedgerClient", "API", "Ledger", "Conversion", "TestSupport"],
            swiftSettings: house
        ),
        .testTarget(
            name: "ConsoleTests",
            dependencies: ["Console", "Conversion", "TestSupport"],
            swiftSettings: house
        ),
        .testTarget(
            name: "LocalClusterTests",
            dependencies: ["LocalCluster", "TestSupport", "sluice", "sluice-room"],
            swiftSettings: house
        ),
        .testTarget(
            name: "PublishingTests",
            dependencies: ["Publishing", "Ledger", "Storage", "Conversion"],
            swiftSettings: house
        ),
        .testTarget(name: "CoordinatorTests", dependencies: ["Coordinator", "WebClient"], swiftSettings: house),
        .testTarget(name: "HashingTests", dependencies: ["Hashing"], swiftSettings: house),
        .testTarget(name: "SystemTests", dependencies: ["System", "TestSupport"], swiftSettings: house),
        .testTarget(name: "WebClientTests", dependencies: ["WebClient", "TestSupport"], swiftSettings: house),
        .testTarget(
            name: "ObjectStorageTests",
            dependencies: ["ObjectStorage", "WebClient", "Conversion", "Hashing", "TestSupport", "ObjectStores"],
            swiftSettings: house
        ),
        .testTarget(name: "ConversionTests", dependencies: ["Conversion", "TestSupport"], swiftSettings: house),
        // Millions of steps of a model: optimised in debug builds too, which reduces a minute to two seconds.
        .testTarget(
            name: "LeaseModelTests",
            dependencies: ["WorkerRules", "Ledger", "Conversion", "TestSupport"],
            swiftSettings: house + optimised
        ),
        .testTarget(
            name: "WorkerRulesTests",
            dependencies: ["WorkerRules", "Ledger", "Conversion", "TestSupport"],
            swiftSettings: house
        ),
        .testTarget(
            name: "LedgerTests",
            dependencies: ["Ledger", "Hashing", "System", "TestSupport", "embed-migrations"],
            swiftSettings: house
        ),
        .testTarget(
            name: "MediaTests",
            dependencies: ["Media", "System", "TestSupport", "media-program"],
            swiftSettings: house
        ),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "Command", "LedgerClient", "API", "Console", "LocalCluster", "Ledger", "PumpRoom", "Storage",
                "Conversion",
                "TestSupport", "ObjectStores", "FuzzedTexts", "sluice", "sluice-room", "test-program",
            ],
            exclude: ["Golden"],
            swiftSettings: house
        ),
        .testTarget(
            name: "WorkerTests",
            dependencies: [
                "Worker", "WorkerRules", "Coordinator", "Publishing", "PumpRoom", "Storage", "ObjectStorage", "Ledger",
                "Conversion", "TestSupport", "ObjectStores", "FuzzedTexts", "sluice", "sluice-room", "poisoned-sluice",
                "poisoned-sluice-room",
            ],
            swiftSettings: house
        ),
        // Real processes that die, sleep and lose their database under load. They run alone, because other tests
        // need the cores.
        .testTarget(
            name: "FaultTests",
            dependencies: ["Ledger", "Conversion", "TestSupport", "sluice", "sluice-room"],
            swiftSettings: house
        ),
        .testTarget(
            name: "StorageTests",
            dependencies: ["Storage", "Conversion", "TestSupport", "storage-process"],
            swiftSettings: house
        ),
    ]
)

if isFuzzed {
    // libFuzzer without a main function, from the folder of the compiler.
    let runtime = Context.environment["SLUICE_FUZZ"] ?? ""
    package.targets += [
        // Defines memcmp, which the compiler must not turn into a call of itself.
        .target(name: "FuzzSignals", path: "Tests/Programs/FuzzSignals", cSettings: [.unsafeFlags(["-fno-builtin"])]),
        .executableTarget(
            name: "fuzz-rooms",
            dependencies: [
                "FuzzSignals", "FuzzedTexts", "RoomProgram", "PumpRoom", "Media", "Conversion", "TestSupport",
            ],
            path: "Tests/Programs/FuzzRooms",
            swiftSettings: house,
            linkerSettings: [.unsafeFlags([runtime, "-lstdc++"])]
        ),
    ]
}

// The test modules and programs to build, with what they depend on, where a few are enough. Unset, all are built. Of a module whose
// name is followed by a folder, as MediaTests/Versions, only that folder is compiled, and the folder Support beside it.
if let words = Context.environment["SLUICE_TEST_MODULES"]?.split(separator: " ") {
    // TestSupport loads WarmStart at run time, which no dependency states.
    var used: Set = ["WarmStart"]
    var open: [String] = []
    for word in words {
        let parts = word.split(separator: "/", maxSplits: 1).map(String.init)
        open.append(parts[0])
        guard parts.count == 2 else { continue }
        package.targets.first { $0.name == parts[0] }?.sources = [parts[1], "Support"]
    }
    while let name = open.popLast() {
        let target = package.targets.first { $0.name == name }
        guard used.insert(name).inserted, let target else { continue }
        for case .byNameItem(let name, _) in target.dependencies { open.append(name) }
        for case .plugin(let name, _) in target.plugins ?? [] { open.append(name) }
    }
    package.targets.removeAll { !used.contains($0.name) }
    package.products.removeAll { product in
        let targets = (product as? Product.Executable)?.targets ?? (product as? Product.Library)?.targets ?? []
        return !used.isSuperset(of: targets)
    }
}
