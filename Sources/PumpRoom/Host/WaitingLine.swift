/// A first-in, first-out queue with constant cost per element.
///
/// A slice of an array would keep removed elements alive; this releases them at once.
struct WaitingLine<Element> {
    private var places: [Element?] = []
    private var head = 0

    var isEmpty: Bool { head == places.count }

    var first: Element? { isEmpty ? nil : places[head] }

    mutating func append(_ element: Element) { places.append(element) }

    /// Puts `elements` before all others, keeping their order.
    mutating func prepend(_ elements: [Element]) {
        places.replaceSubrange(..<head, with: elements)
        head = 0
    }

    mutating func popFirst() -> Element? {
        guard head < places.count else { return nil }
        let element = places[head]
        places[head] = nil
        head += 1
        // Compacted only now and then, so the cost per element does not grow with the length.
        if head == places.count || (head >= 32 && head * 2 > places.count) {
            places.removeFirst(head)
            head = 0
        }
        return element
    }

    /// Removes and returns the first element that matches.
    mutating func remove(where isMeant: (Element) -> Bool) -> Element? {
        guard let place = places[head...].firstIndex(where: { $0.map(isMeant) ?? false }) else { return nil }
        return places.remove(at: place)
    }

    /// Removes and returns all elements.
    mutating func removeAll() -> [Element] {
        defer { (places, head) = ([], 0) }
        return places[head...].compactMap { $0 }
    }
}
