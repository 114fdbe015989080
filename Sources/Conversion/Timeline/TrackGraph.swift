/// Which tracks of a timeline refer to which others through their pieces.
struct TrackGraph {
    /// The first track of each name.
    let indices: [String: Int]
    /// For each track, the tracks that its pieces refer to, each once.
    let references: [[Int]]
    /// Each track after all that it refers to. Tracks that lead into a cycle are missing.
    let order: [Int]
    /// The tracks of a cycle, from one of them round to itself; `nil` if there is none.
    let cycle: [Int]?

    init(_ tracks: [Timeline.Track]) {
        var indices: [String: Int] = [:]
        for (index, track) in tracks.enumerated() {
            if let name = track.name, indices[name] == nil { indices[name] = index }
        }
        self.indices = indices
        references = tracks.map { track in
            var seen: Set<Int> = []
            return track.pieces.compactMap { piece in
                guard case .track(let name, _) = piece.material, let index = indices[name] else { return nil }
                return seen.insert(index).inserted ? index : nil
            }
        }
        (order, cycle) = Self.sorted(references)
    }

    /// The tracks by depth-first search, with a list in place of recursion: a hostile recipe may nest deeply.
    private static func sorted(_ references: [[Int]]) -> (order: [Int], cycle: [Int]?) {
        enum Visit { case never, open, done }
        var visits = [Visit](repeating: .never, count: references.count)
        var order: [Int] = []
        var cycle: [Int]?
        var leadsToCycle = Set<Int>()
        for root in references.indices where visits[root] == .never {
            var path = [(track: root, next: 0)]
            visits[root] = .open
            while let (track, next) = path.last {
                guard next < references[track].count else {
                    visits[track] = .done
                    if references[track].contains(where: leadsToCycle.contains) { leadsToCycle.insert(track) }
                    if !leadsToCycle.contains(track) { order.append(track) }
                    path.removeLast()
                    continue
                }
                path[path.count - 1].next += 1
                let inner = references[track][next]
                switch visits[inner] {
                case .never:
                    visits[inner] = .open
                    path.append((inner, 0))
                case .open:
                    leadsToCycle.insert(track)
                    let start = path.firstIndex { $0.track == inner } ?? 0
                    cycle = cycle ?? path[start...].map(\.track) + [inner]
                case .done: break
                }
            }
        }
        return (order, cycle)
    }
}
