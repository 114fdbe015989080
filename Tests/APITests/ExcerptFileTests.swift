import Testing

@testable import API

/// Which files a coordinator removes when they are old: those of excerpts, and no others.
struct ExcerptFileTests {
    private static let name = ExcerptFile.name((0..<32).map { UInt8($0 * 7) })

    @Test func excerptsAreKnown() {
        #expect(Self.name == "sluice-excerpt-00070e151c232a31383f464d545b6269")
        for path in [["excerpts", "\(Self.name).wav"], ["a", "excerpts", "acme", "\(Self.name).dat"]] {
            #expect(ExcerptFile.isOne(path), "\(path)")
        }
    }

    @Test(arguments: [
        ["\(name).wav"], ["excerpts"], [], ["excerpts", "talk.wav"], ["excerpts", "\(name).flac"],
        ["excerpts", "\(name).wav.wav"], ["excerpts", "\(name)"], ["excerpts", "a", "b", "\(name).wav"],
        ["excerpts", "\(name.uppercased()).wav"], ["excerpts", "\(name.dropLast())g.wav"], ["other", "\(name).wav"],
        // As stores name files by the digest of what they hold.
        ["excerpts", "\(name.dropFirst(15)).wav"], ["radio", "excerpts", "d41d8cd98f00b204e9800998ecf8427e.wav"],
    ])
    func otherFilesAreNot(path: [String]) { #expect(!ExcerptFile.isOne(path)) }
}
