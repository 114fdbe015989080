import Conversion

/// What a worker process says of itself when it starts.
public struct WorkerRegistration: Sendable, Hashable {
    /// For people. The ledger gives every start a number of its own, so a name may be used again.
    public var name: String
    public var host: String
    /// The version of the binary.
    public var build: String
    /// Conversions at one time.
    public var slots: Int32
    /// What it can do, in the words of `AbilityWord`. The recipe versions that this build reads go without saying.
    public var abilities: [String]

    public init(name: String, host: String, build: String, slots: Int32, abilities: [String] = []) {
        self.name = name
        self.host = host
        self.build = build
        self.slots = slots
        self.abilities = abilities
    }

    /// With the recipe versions.
    var allAbilities: [String] { Self.all(abilities) }

    static func all(_ abilities: [String]) -> [String] { abilities + Recipe.knownVersions.map(AbilityWord.recipe) }
}

/// A worker's entry in the ledger, and its right to work.
public struct WorkerEntry: Sendable, Hashable {
    /// Fresh at every start.
    public var worker: Int64
    /// How long it may work after a beat, of which the registration was the first.
    public var leaseLength: Duration
    /// A moment before the ledger heard of it, from which the worker counts.
    public var sentAt: ContinuousClock.Instant
}
