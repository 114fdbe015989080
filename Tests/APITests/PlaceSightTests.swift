import Testing

@testable import API

/// Which files and folders a tenant is told of when it names sources.
struct PlaceSightTests {
    private let sight = PlaceSight(reads: ["in:acme/", "shared:music"])

    @Test(arguments: [
        ("in:acme/", true), ("in:acme/a.wav", true), ("in:acme/2026/", true), ("in:", true),
        ("in:acme", false), ("in:zenith/", false), ("in:acmeetal/", false), ("in:a.wav", false),
        ("shared:", true), ("shared:music.flac", true), ("shared:music/", true), ("shared:mus", false),
        ("shared:mus/", false), ("out:", false), ("", false),
    ])
    func aTenantKnowsWhatItReadsAndTheWayThere(place: String, isKnown: Bool) {
        #expect(sight.includes(place) == isKnown)
    }

    @Test func othersKnowEverything() {
        #expect(PlaceSight(reads: nil).includes("any:where/"))
        #expect(!PlaceSight(reads: []).includes("in:"))
    }
}
