import Testing

@testable import Conversion

struct PluralTests {
    @Test func onlyOneIsSingular() {
        #expect([0, 1, 2, -1].map { Plural.count($0, "frame") } == ["0 frames", "1 frame", "2 frames", "-1 frames"])
        #expect(Plural.count(Int64(1_000_000), "byte") == "1000000 bytes")
    }

    @Test func batchesGetAnE() {
        #expect(Plural.form("batch", for: 2) == "batches" && Plural.form("batch", for: 1) == "batch")
        #expect(Plural.form("process", for: 0) == "processes")
    }

    @Test func verbsFollowTheNumber() {
        #expect([1, 2].map(Plural.be) == ["is", "are"] && [1, 2].map(Plural.past) == ["was", "were"])
        #expect([1, 2].map(Plural.have) == ["has", "have"])
    }
}
