/// Finds equal entries of a list that holds the entries itself: 11 to 21 bytes an entry.
struct EntryTable: Sendable {
    /// Half of the hash, and the number of the entry plus one; zero for an empty slot.
    private var slots: [UInt64] = []
    private(set) var count = 0

    /// The entry with this hash that is the wanted one. `isWanted` is asked only where halves of the hashes agree.
    func entry(hash: Int, where isWanted: (Int) -> Bool) -> Int? {
        guard !slots.isEmpty else { return nil }
        let half = UInt64(UInt32(truncatingIfNeeded: hash))
        var place = Int(half) & (slots.count - 1)
        while slots[place] != 0 {
            if slots[place] >> 32 == half {
                let entry = Int(slots[place] & 0xFFFF_FFFF) - 1
                if isWanted(entry) { return entry }
            }
            place = (place + 1) & (slots.count - 1)
        }
        return nil
    }

    mutating func insert(_ entry: Int, hash: Int) {
        if (count + 1) * 4 > slots.count * 3 { grow() }
        put(UInt64(UInt32(truncatingIfNeeded: hash)) << 32 | UInt64(UInt32(entry + 1)))
        count += 1
    }

    private mutating func put(_ slot: UInt64) {
        var place = Int(slot >> 32) & (slots.count - 1)
        while slots[place] != 0 { place = (place + 1) & (slots.count - 1) }
        slots[place] = slot
    }

    private mutating func grow() {
        let old = slots
        slots = [UInt64](repeating: 0, count: max(64, old.count * 2))
        for slot in old where slot != 0 { put(slot) }
    }
}
