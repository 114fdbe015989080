import Conversion
import Ledger
import Storage

extension SubmitPlan {
    /// A source and the destinations of its outputs.
    struct Item: Sendable {
        let source: Location
        var destinations: [Location]
        /// The piece of the source at each destination; empty if each output holds all of the source. A file that is not cut
        /// is one piece.
        var pieces: [SplitPoints.Piece] = []
        /// The book that the source is the first file of; `nil` if the source is a file by itself.
        var book: SubmitBook?
        /// The values of tags that differ between sources.
        var tags: [String: Recipe.TagValues] = [:]
        /// Of the source, if it was found in a bucket.
        var stamp: SourceStamp?
        /// The number of its kind, of which there are few.
        fileprivate(set) var kind = 0

        /// The first output's.
        var destination: Location { destinations[0] }
        /// The files whose sound the job reads.
        var files: [Location] { book.map { [source] + $0.others } ?? [source] }
        /// All that the job alone reads.
        var sources: [Location] { files + (book?.pictures ?? []) }
    }

    /// The items of a plan. A million of them take some tens of bytes each, so an item is put together when it is asked for.
    struct Items: RandomAccessCollection, Sendable {
        /// An output of an item.
        struct Spot: Sendable {
            let place: Int
            let output: Int
        }

        private let sources: FoundSources
        /// The pieces of each source; `nil` if sources are not cut.
        private let cuts: [[SplitPoints.Piece]]?
        /// Those with different values for different sources.
        private let tags: [TagWish]
        /// The outputs of each item whose source is not cut.
        private let outputCount: Int
        /// The sources of the items; `nil` while each source has one.
        private var usable: [Int]?
        /// Of all outputs, in their order.
        private var destinations = PackedTexts()
        /// Where the destinations of each item begin; `nil` if sources are not cut.
        private var firsts: [Int]?
        /// Destinations that were changed later.
        private var changes = PackedTexts()
        /// Where those of an item begin in `changes`, by the place of the item.
        private var changed: [Int: UInt32] = [:]
        private var kinds: [UInt32] = []
        private(set) var endIndex = 0

        var startIndex: Int { 0 }

        init(of sources: FoundSources, cuts: [[SplitPoints.Piece]]?, tags: [TagWish], outputCount: Int) {
            (self.sources, self.cuts, self.tags, self.outputCount) = (sources, cuts, tags, outputCount)
            firsts = cuts == nil ? nil : []
        }

        /// Adds the item of the source at a place.
        mutating func append(source: Int, _ places: [Location]) {
            firsts?.append(destinations.count)
            for place in places { destinations.append(place.description) }
            usable?.append(source)
            kinds.append(0)
            endIndex += 1
        }

        /// Leaves the next source out.
        mutating func skipSource() { if usable == nil { usable = Array(0..<endIndex) } }

        subscript(place: Int) -> Item {
            let number = usable?[place] ?? place
            let source = sources[number]
            var item = Item(source: source.location, destinations: destinations(of: place))
            if let cuts { item.pieces = cuts[number] }
            item.book = source.book
            item.stamp = source.stamp
            item.kind = Int(kinds[place])
            if !tags.isEmpty {
                // `try?`: the path was parsed when the item was made.
                let path = (try? Location(root: "source", path: source.relative))?.path ?? source.relative
                item.tags.set(tags.map { ($0.name, $0.value(for: path)) })
            }
            return item
        }

        func source(_ place: Int) -> Location { sources.location(usable?[place] ?? place) }

        // MARK: - Destinations

        /// The outputs of all items.
        var destinationCount: Int { destinations.count }

        func destinationCount(of place: Int) -> Int { outputs(of: place).count }

        /// The output with a number, by which those of all items are counted.
        func spot(_ number: Int) -> Spot {
            guard let firsts else {
                let (place, output) = number.quotientAndRemainder(dividingBy: outputCount)
                return Spot(place: place, output: output)
            }
            // The last item that begins at or before the number.
            var (low, high) = (0, firsts.count)
            while high - low > 1 {
                let middle = (low + high) / 2
                if firsts[middle] <= number { low = middle } else { high = middle }
            }
            return Spot(place: low, output: number - firsts[low])
        }

        func destination(_ number: Int) -> Location {
            if !changed.isEmpty {
                let spot = spot(number)
                if let first = changed[spot.place] { return change(Int(first) + spot.output) }
            }
            return plannedDestination(number)
        }

        func destination(_ spot: Spot) -> Location { destination(outputs(of: spot.place).lowerBound + spot.output) }

        /// The destination before it was changed.
        private func plannedDestination(_ number: Int) -> Location { Location(ofDescription: destinations[number]) }

        private func destinations(of place: Int) -> [Location] {
            let outputs = outputs(of: place)
            guard let first = changed[place] else { return outputs.map { plannedDestination($0) } }
            return outputs.indices.map { change(Int(first) + $0 - outputs.lowerBound) }
        }

        /// The numbers of an item's outputs among those of all items.
        func outputs(of place: Int) -> Range<Int> {
            guard let firsts else { return place * outputCount..<(place + 1) * outputCount }
            return firsts[place]..<(place + 1 < firsts.count ? firsts[place + 1] : destinations.count)
        }

        /// Changes all destinations of an item. They become the last of the changes.
        mutating func setDestinations(_ destinations: [Location], of place: Int) {
            changed[place] = UInt32(changes.count)
            for destination in destinations { changes.append(destination.description) }
        }

        /// How many changes there are, those that were changed again included.
        var changeCount: Int { changes.count }

        func change(_ number: Int) -> Location { Location(ofDescription: changes[number]) }

        mutating func setKind(_ kind: Int, of place: Int) { kinds[place] = UInt32(kind) }

        /// The destinations of the first outputs, as text.
        var firstDestinations: FirstDestinations { FirstDestinations(items: self) }

        struct FirstDestinations: RandomAccessCollection, Sendable {
            fileprivate let items: Items

            var startIndex: Int { 0 }
            var endIndex: Int { items.endIndex }

            subscript(place: Int) -> String {
                if let first = items.changed[place] { return items.changes[Int(first)] }
                return items.destinations[items.outputs(of: place).lowerBound]
            }
        }
    }
}
