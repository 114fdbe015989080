import Conversion
import Ledger
import Storage
import Testing

@testable import Command
@testable import Console

/// The items of a plan, which are put together from packed lists, beside the same items as plain values.
struct SubmitItemsTests {
    /// What a source becomes.
    private struct Plain {
        let source: Location
        let folder: String
        let pieces: [SplitPoints.Piece]
        var destinations: [Location]
    }

    private static let roots = PathRoots([], home: nil, here: "/")

    private static func pieces(_ count: Int, _ titles: [String?]) throws -> [SplitPoints.Piece] {
        let cuts = (1..<count).map { MediaTime(value: Int64($0) * 600, timescale: 1) }
        var pieces = try SplitPoints.pieces(at: cuts)
        for index in pieces.indices { pieces[index].title = titles[index % titles.count] }
        return pieces
    }

    /// Sources of many kinds in turns, more than three blocks of a packed list: cut into 2 to 9 pieces, whole, with a name of
    /// an earlier one, and with names that are too long for all pieces or for a later one.
    private static func sources(isCut: Bool) throws -> (FoundSources, cuts: [[SplitPoints.Piece]]) {
        var (sources, cuts) = (FoundSources(), [[SplitPoints.Piece]]())
        let long = String(repeating: "y", count: 140)
        for number in 0..<900 {
            // The first source of all is left out, too.
            let kind = (number + 4) % 9
            let stem =
                switch kind {
                case 4: String(repeating: "x", count: 251)
                case 5: String(repeating: "z", count: 130)
                case 7: "talk-\(number - number % 27)"
                default: "talk-\(number)"
                }
            let relative = "show \(number / 9)/\(number)/\(stem).wav"
            sources.append(FoundSource(location: try Location("in:library/\(relative)"), relative: relative))
            switch kind {
            case 0, 6: cuts.append([SplitPoints.Piece(range: .whole, title: "all", isUncut: true)])
            case 5: cuts.append(try pieces(3, ["one", "two", long]))
            default: cuts.append(try pieces(2 + number % 8, ["one", nil, "three"]))
            }
        }
        return (sources, isCut ? cuts : [])
    }

    /// The same plan, without packing.
    private static func plain(_ sources: FoundSources, _ cuts: [[SplitPoints.Piece]]) throws -> [Plain] {
        var (items, taken): ([Plain], Set<Location>) = ([], [])
        for (number, source) in sources.enumerated() {
            let pieces = cuts.isEmpty ? [] : cuts[number]
            let stem = source.location.name.withoutExtension
            let names =
                cuts.isEmpty
                ? ["out:\(stem).flac", "web:\(stem).mp3"]
                : pieces.enumerated().map { index, piece in "out:\(stem)-\(index + 1)-\(piece.title ?? stem).flac" }
            // `try?`: a source with a name that is too long for one of its outputs is left out; the tests count these.
            guard let made = try? names.map({ try Location($0).asDestination() }) else { continue }
            var (places, count) = (made, 1)
            while !taken.isDisjoint(with: places) {
                count += 1
                places = try made.map { try $0.numbered(count) }
            }
            taken.formUnion(places)
            let folder = source.relative.split(separator: "/").dropLast().joined(separator: "/")
            items.append(Plain(source: source.location, folder: folder, pieces: pieces, destinations: places))
        }
        return items
    }

    private static func plan(isCut: Bool) throws -> (SubmitPlan, [Plain]) {
        let (sources, cuts) = try sources(isCut: isCut)
        var recipe = Recipe(from: .init(location: "in:a.wav"), to: .init(location: "out:a.flac"))
        var outputs = [
            try OutputTemplate("--to", isCut ? "out:{stem}-{n}-{title}.flac" : "out:{stem}.flac", roots, cuts: isCut)
        ]
        if !isCut {
            recipe.outputs.append(.init(location: "web:a.mp3"))
            outputs.append(try OutputTemplate("--also", "web:{stem}.mp3", roots))
        }
        let plan = try SubmitPlan(
            sources,
            cuts: isCut ? cuts : nil,
            misfits: [],
            outputs: outputs,
            base: recipe,
            tags: [try TagWish(name: "album", value: "{dir}")],
            names: DestinationNames(roots, isPortable: false),
            onCollision: .number,
            conflict: .fail
        )
        return (plan, try plain(sources, cuts))
    }

    @Test(arguments: [false, true])
    func itemsAreThoseThatPlainListsHold(isCut: Bool) throws {
        let (plan, plain) = try Self.plan(isCut: isCut)
        let items = plan.items
        // Names that are too long for some pieces of a source leave out all of it.
        #expect(items.count == plain.count && plan.misfits.count == 900 - plain.count)
        #expect(plan.misfits.count == (isCut ? 200 : 100) && plan.collisions.count == 0)
        #expect(plain.contains { $0.destinations[0].name.contains("-2.flac") })
        var number = 0
        for (place, expected) in plain.enumerated() {
            let item = items[place]
            #expect(item.source == expected.source && items.source(place) == expected.source)
            #expect(item.destinations == expected.destinations && item.pieces == expected.pieces)
            #expect(item.tags["album"]?.all == [expected.folder])
            #expect(items.firstDestinations[place] == expected.destinations[0].description)
            #expect(items.destinationCount(of: place) == expected.destinations.count)
            for output in expected.destinations.indices {
                let spot = items.spot(number)
                #expect((spot.place, spot.output) == (place, output))
                #expect(items.destination(number) == expected.destinations[output])
                #expect(items.destination(spot) == expected.destinations[output])
                number += 1
            }
        }
        #expect(items.destinationCount == number)
        #expect(plan.uncutCount == plain.count { $0.pieces.areUncut })
    }

    @Test(arguments: [false, true])
    func requestsAreTheSameEachTimeTheyAreRead(isCut: Bool) throws {
        let (plan, plain) = try Self.plan(isCut: isCut)
        var chosen = ChosenJobs(usualPolicies: [.fail])
        let places = plain.indices.filter { $0 % 5 != 1 }
        for place in places {
            let isOther = place % 7 == 3
            chosen.append(
                SubmitSurvey.Chosen(
                    place: place,
                    policies: [isOther ? .replace : .fail],
                    predecessor: isOther ? Int64(place) : 0,
                    stamp: place % 3 == 0 ? nil : SourceStamp(bytes: Int64(place), modified: 7)
                )
            )
        }
        let requests = plan.requests(chosen)
        for _ in 0..<2 {
            var count = 0
            for (place, request) in zip(places, requests) {
                let (expected, recipe) = (plain[place], request.recipe)
                #expect(recipe.sources.map(\.location) == [expected.source.description])
                #expect(recipe.outputs.map(\.location) == expected.destinations.map(\.description))
                #expect(recipe.outputs.allSatisfy { $0.onConflict == (place % 7 == 3 ? .replace : .fail) })
                if isCut, !expected.pieces.areUncut {
                    #expect(recipe.outputs.map(\.range) == expected.pieces.map { Optional($0.range) })
                    let tracks = recipe.outputs.map { $0.tags["track"]?.all.first ?? "" }
                    #expect(tracks == expected.pieces.indices.map { "\($0 + 1)/\(expected.pieces.count)" })
                }
                #expect(recipe.tags["album"]?.all == [expected.folder])
                #expect(request.stamp == (place % 3 == 0 ? nil : SourceStamp(bytes: Int64(place), modified: 7)))
                #expect(request.needs.contains("codec:flac") && request.needs.contains("root:in"))
                count += 1
            }
            #expect(count == places.count && Array(requests).count == count)
        }
        let moved = chosen.filter { $0.predecessor != 0 }.map { ($0.place, $0.policies) }
        #expect(moved.allSatisfy { $0.0 % 7 == 3 && $0.1 == [.replace] } && moved.count > 50)
        let wishes = ["default"]
        #expect(try plan.key(chosen, wishes) == plan.key(chosen, wishes))
    }
}
