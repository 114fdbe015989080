/// First come, first served, however many wait.
///
/// A slice of an array would keep what has left it; this lets go of it at once.
struct WaitingLine<Element> {
    private var places: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == places.count }

    mutating func append(_ element: Element) { places.append(element) }

    /// Puts `elements` before all who wait, in their order.
    mutating func prepend(_ elements: [Element]) {
        places.replaceSubrange(..<head, with: elements)
        head = 0
    }

    mutating func popFirst() -> Element? {
        guard head < places.count else { return nil }
        let element = places[head]
        places[head] = nil
        head += 1
        // Moved up now and then, so that each costs the same however long the line is.
        if head == places.count || (head >= 32 && head * 2 > places.count) {
            places.removeFirst(head)
            head = 0
        }
        return element
    }

    /// Takes out the first who is meant.
    mutating func remove(where isMeant: (Element) -> Bool) -> Element? {
        guard let place = places[head...].firstIndex(where: { $0.map(isMeant) ?? false }) else { return nil }
        return places.remove(at: place)
    }

    /// Takes out all.
    mutating func removeAll() -> [Element] {
        defer { (places, head) = ([], 0) }
        return places[head...].compactMap { $0 }
    }
}
