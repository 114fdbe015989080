import Foundation
import Ledger
import Storage
import TestSupport
import Testing

@testable import Command

/// Where the files of this machine go that a submission sends.
struct UploadPlacesTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder.create()
        try Bytes.write([1, 2, 3], to: folder.path("a.wav"))
    }

    private func places(_ machine: String = "one") -> UploadPlaces {
        UploadPlaces(base: "in:uploads/", mostBytes: 1_000, machine: machine)
    }

    private func place(_ places: UploadPlaces) throws -> Location { try places.location(of: folder.path("a.wav")) }

    @Test func aFileIsFoundAgainAtItsPlace() throws {
        let (first, second) = (places(), places())
        let place = try place(first)
        #expect(
            place.root == "in" && place.path.wholeMatch(of: #/uploads/[0-9a-f]{2}/[0-9a-f]{22}/a\.wav/#) != nil
        )
        #expect(try self.place(second) == place)
        #expect(first.file(at: place)?.path == folder.path("a.wav") && first.file(at: place)?.stamp.bytes == 3)
        #expect(try self.place(first) == place)
    }

    @Test func changedFilesAndOtherMachinesHaveOtherPlaces() throws {
        let first = try place(places())
        #expect(try place(places("two")) != first)
        try Bytes.write([1, 2, 3, 4], to: folder.path("a.wav"))
        let changed = places()
        let second = try place(changed)
        #expect(second != first)
        let stamp = try #require(changed.file(at: second)?.stamp)
        #expect(changed.earlier(second, as: stamp) == second)
        #expect(changed.earlier(first, as: stamp) == nil)
    }

    @Test func thePlaceOfAnEarlierStateFollowsFromItsStamp() throws {
        let old = places()
        let first = try place(old)
        let stamp = try #require(old.file(at: first)?.stamp)
        try Bytes.write([1, 2, 3, 4], to: folder.path("a.wav"))
        let new = places()
        #expect(try new.earlier(place(new), as: stamp) == first)
    }

    /// Of a file whose earlier stamp is not known.
    @Test func anEarlierPlaceHasTheNameOfTheFile() throws {
        let old = try place(places())
        try Bytes.write([1, 2, 3, 4], to: folder.path("a.wav"))
        try Bytes.write([1], to: folder.path("b.wav"))
        let new = places()
        let (now, other) = (try place(new), try new.location(of: folder.path("b.wav")))
        #expect(new.mayBe(old, anEarlierPlaceOf: now) && !new.mayBe(old, anEarlierPlaceOf: other))
        #expect(!new.mayBe(now, anEarlierPlaceOf: old))
        #expect(!new.mayBe(try Location("in:other/a.wav"), anEarlierPlaceOf: now))
    }

    @Test func manyFilesAreFoundByTheirPathsAndPlaces() throws {
        let places = places()
        // Two names that only look the same are two files.
        let names = (0..<600).map { "talk \($0).wav" } + ["\u{E9}.wav", "e\u{301}.wav"]
        for name in names { try Bytes.write([1], to: folder.path(name)) }
        let locations = try names.map { try places.location(of: folder.path($0)) }
        #expect(Set(locations).count == names.count)
        for (name, location) in zip(names, locations) {
            let path = try #require(places.file(at: location)?.path)
            #expect(path.utf8.elementsEqual(folder.path(name).utf8))
            #expect(try places.location(of: folder.path(name)) == location)
        }
        #expect(places.file(at: try Location("in:uploads/talk 1.wav")) == nil)
    }

    @Test func filesThatAreGoneHaveNoPlace() throws {
        #expect(throws: StorageError.self) { try places().location(of: folder.path("b.wav")) }
    }
}
