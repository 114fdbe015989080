import Conversion
import Testing

/// Names with numbers, in the order in which people put them.
struct NaturalOrderTests {
    private static let ordered: [String] = [
        "1.mp3", "2.mp3", "10.mp3", "10a.mp3", "100.mp3", "a.mp3", "B.mp3", "CD 1/9.mp3", "CD 1/10.mp3",
        "CD 1 bonus/1.mp3", "CD 2/1.mp3", "CD 10/1.mp3", "part 1 - 2.mp3", "part 1.mp3", "part 007.mp3", "part 8.mp3",
        "part 99999999999999999999999.mp3", "part 100000000000000000000000.mp3",
    ]

    @Test func numbersCountAsNumbers() {
        let found = Self.ordered.reversed().sorted(by: NaturalOrder.precedes)
        #expect(found == Self.ordered)
    }

    /// No two names are equal, so that the order is the same each time.
    @Test func namesThatDifferHaveAnOrder() {
        for (one, two) in [("01.mp3", "1.mp3"), ("A.mp3", "a.mp3"), ("1/a", "01/a"), ("", "a"), ("a", "a/b")] {
            #expect(NaturalOrder.precedes(one, two) != NaturalOrder.precedes(two, one), "\(one) \(two)")
        }
        #expect(!NaturalOrder.precedes("a1", "a1"))
    }

    @Test func anOrderHasNoCircles() {
        let names = Self.ordered
        for (index, name) in names.enumerated() {
            for other in names[index...] where NaturalOrder.precedes(name, other) {
                for third in names where NaturalOrder.precedes(other, third) {
                    #expect(NaturalOrder.precedes(name, third), "\(name) \(other) \(third)")
                }
            }
        }
    }
}
