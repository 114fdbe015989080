/// The order in which people put names with numbers: `2` before `10`. Whether letters are small or capital does not matter.
public enum NaturalOrder {
    /// Whether one path comes before another. Names between slashes are compared one after another.
    public static func precedes(_ first: String, _ second: String) -> Bool {
        let (names, others) = (first.split(separator: "/"), second.split(separator: "/"))
        for (name, other) in zip(names, others) {
            let order = compare(name, other)
            if order != 0 { return order < 0 }
        }
        if names.count != others.count { return names.count < others.count }
        // The same but for zeros and capitals.
        return first < second
    }

    /// The number that begins at `place`, without zeros before it, and moves `place` behind it.
    private static func digits(_ letters: [Unicode.Scalar], at place: inout Int) -> [UInt32] {
        var digits: [UInt32] = []
        while place < letters.count, isDigit(letters[place]) {
            let digit = letters[place].value
            if digit != 0x30 || !digits.isEmpty { digits.append(digit) }
            place += 1
        }
        return digits
    }

    private static func isDigit(_ letter: Unicode.Scalar) -> Bool { (0x30...0x39).contains(letter.value) }

    /// Below zero if `first` comes before `second`, above zero if it comes after it.
    private static func compare(_ first: Substring, _ second: Substring) -> Int {
        let (one, two) = (Array(first.lowercased().unicodeScalars), Array(second.lowercased().unicodeScalars))
        var (here, there) = (0, 0)
        while here < one.count, there < two.count {
            if isDigit(one[here]), isDigit(two[there]) {
                let (number, other) = (digits(one, at: &here), digits(two, at: &there))
                if number.count != other.count { return number.count - other.count }
                if number != other { return number.lexicographicallyPrecedes(other) ? -1 : 1 }
            } else {
                if one[here] != two[there] { return one[here] < two[there] ? -1 : 1 }
                here += 1
                there += 1
            }
        }
        return (one.count - here) - (two.count - there)
    }
}
