import Conversion

/// What a worker process tells the ledger when it starts.
public struct WorkerRegistration: Sendable, Hashable {
    /// For people. The ledger numbers each start, so a name may be used again.
    public var name: String
    public var host: String
    /// The version of the binary.
    public var build: String
    /// The libraries that convert, with their versions.
    public var libraries: String?
    /// The number of conversions that run at the same time.
    public var slots: Int32
    /// What the worker can do, in the strings of `AbilityWord`. The recipe versions of this build are added.
    public var abilities: [String]

    public init(
        name: String,
        host: String,
        build: String,
        libraries: String? = nil,
        slots: Int32,
        abilities: [String] = []
    ) {
        self.name = name
        self.host = host
        self.build = build
        self.libraries = libraries
        self.slots = slots
        self.abilities = abilities
    }

    /// The abilities, recipe versions included.
    var allAbilities: [String] { Self.all(abilities) }

    static func all(_ abilities: [String]) -> [String] { abilities + Recipe.knownVersions.map(AbilityWord.recipe) }
}

/// A worker's entry in the ledger.
public struct WorkerEntry: Sendable, Hashable {
    /// New at every start.
    public var worker: Int64
    /// How long the worker may work after a beat. The registration counts as the first beat.
    public var leaseLength: Duration
    /// A moment before the worker sent its registration; its lease counts from here.
    public var sentAt: ContinuousClock.Instant
}
