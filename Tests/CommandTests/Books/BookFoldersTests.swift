import Testing

@testable import Command

/// Which files of a submission are one book.
struct BookFoldersTests {
    @Test func eachFolderIsABookAndDiscsBelongToIt() {
        let groups = BookFolders.groups([
            ("/lib/loose.mp3", "loose.mp3"), ("/lib/Ada/CD 1/1.mp3", "Ada/CD 1/1.mp3"),
            ("/lib/Ada/CD 2/1.mp3", "Ada/CD 2/1.mp3"), ("/lib/Ada/Early/1.mp3", "Ada/Early/1.mp3"),
            ("/lib/Ada/0.mp3", "Ada/0.mp3"),
        ])
        #expect(groups.map(\.folder) == ["lib", "Ada", "Ada/Early"])
        #expect(groups.map(\.members) == [[0], [1, 2, 4], [3]])
        #expect(groups[1].names == ["CD 1/1.mp3", "CD 2/1.mp3", "0.mp3"])
    }

    /// Its discs as well.
    @Test func aFolderThatIsGivenItselfHasItsName() {
        let groups = BookFolders.groups([
            ("/lib/Ada/CD 1/1.mp3", "CD 1/1.mp3"), ("/lib/Ada/disc_02/1.mp3", "disc_02/1.mp3"),
            ("/lib/CD 1/1.mp3", "1.mp3"), ("far:in/x.mp3", "x.mp3"), ("/x.mp3", "x.mp3"),
        ])
        #expect(groups.map(\.folder) == ["Ada", "CD 1", "in", "book"])
        #expect(groups.map(\.members) == [[0, 1], [2], [3], [4]])
    }

    /// Only that behind a root is no part of the name.
    @Test func colonsInNamesStay() {
        let groups = BookFolders.groups([
            ("/lib/Dune: One/1.mp3", "1.mp3"), ("/lib/Emma: One/1.mp3", "1.mp3"), ("far:in/Dune: Two/1.mp3", "1.mp3"),
            ("far:Dune: Three/1.mp3", "1.mp3"),
        ])
        #expect(groups.map(\.folder) == ["Dune: One", "Emma: One", "Dune: Two", "Dune: Three"])
    }

    /// As of a submission that is repeated.
    @Test(arguments: ["/lib/books/{}.m4b", "/lib/{}.m4b", "/lib/{}/{}.m4b"])
    func outputsInTheLibraryAreNoParts(template: String) {
        func output(_ group: BookFolders.Group) -> [String] { [template.replacing("{}", with: group.folder)] }
        let parts = ["/lib/Ada/1.mp3", "/lib/Ada/CD 1/1.mp3", "/lib/Emma/1.mp3"]
        func groups(_ paths: [String]) -> [BookFolders.Group] {
            BookFolders.groups(paths.map { ($0, String($0.dropFirst(5))) })
        }
        #expect(BookFolders.outputs(of: groups(parts), among: parts, output) == [])
        let made = groups(parts).flatMap(output)
        let all = parts + made
        #expect(BookFolders.outputs(of: groups(all), among: all, output) == Set(made))
        // The only file of a folder is not left out, so that it is not overwritten either.
        let alone = ["/lib/Ada/Ada.m4b"]
        let same = BookFolders.outputs(of: groups(alone), among: alone) { ["/lib/\($0.folder)/\($0.folder).m4b"] }
        #expect(same == [])
    }

    @Test func equalFoldersInDifferentPlacesAreDifferentBooks() {
        let groups = BookFolders.groups([("/one/A/1.mp3", "A/1.mp3"), ("/two/A/1.mp3", "A/1.mp3")])
        #expect(groups.map(\.folder) == ["A", "A"] && groups.map(\.members) == [[0], [1]])
    }

    /// Other folders would be other books.
    @Test func linksInAFolderAreItsDoubts() {
        let groups = BookFolders.groups([
            ("/lib/Ada/CD 1/1.mp3", "Ada/CD 1/1.mp3"), ("/lib/Emma/1.mp3", "Emma/1.mp3"),
        ])
        let links = ["/lib/Ada/CD 2", "/lib/Ada/More", "/lib/Emma/CD 2"].map {
            FolderWalk.Link(path: $0, leadsToFolder: true)
        }
        let dead = FolderWalk.Link(path: "/lib/Ada/CD 1/2.mp3", leadsToFolder: false)
        let doubts: [String] = [
            "Ada: CD 1/2.mp3 is a link to a file that is not there, and is left out",
            "Ada: CD 2 is a link to a folder, and is left out",
        ]
        #expect(groups[0].doubts(links + [dead]) == doubts)
        #expect(groups[1].doubts(links + [dead]) == ["Emma: CD 2 is a link to a folder, and is left out"])
    }

    @Test(arguments: ["CD1", "cd 12", "Disc_2", "disk-3", "Part 04", "Side #1", "tape 1"])
    func discsAreKnownByTheirNames(name: String) { #expect(BookFolders.isDisc(name)) }

    @Test(arguments: ["CD", "CDs 1", "Disc 1 bonus", "Volume 1", "Party 1", "Part One", "1", "cd 1984", "Part ٣"])
    func otherFoldersAreBooks(name: String) { #expect(!BookFolders.isDisc(name)) }
}
