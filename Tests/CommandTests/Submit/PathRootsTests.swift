import Storage
import Testing

@testable import Command
@testable import Console

/// How paths on this machine become locations that workers understand.
struct PathRootsTests {
    private let roots = PathRoots(
        [.init(name: "data", path: "/data"), .init(name: "pods", path: "/data/podcasts")],
        home: "/home/ada",
        here: "/data/podcasts/2020"
    )
    private let usual = PathRoots([], home: "/home/ada", here: "/srv/{in}")

    @Test func pathsAreMadeAbsolute() {
        #expect(roots.absolute("a.wav") == "/data/podcasts/2020/a.wav")
        #expect(roots.absolute("./x//y/../a.wav") == "/data/podcasts/2020/x/a.wav")
        #expect(roots.absolute("../../../../..") == "/")
        #expect(roots.absolute("~/a.wav") == "/home/ada/a.wav")
        #expect(roots.absolute("~a.wav") == "/data/podcasts/2020/~a.wav")
    }

    @Test func innermostRootIsTaken() {
        #expect(roots.place(of: "/data/podcasts/a.wav").map { "\($0.root.name):\($0.below)" } == "pods:a.wav")
        #expect(
            roots.place(of: "/data/podcasts2/a.wav").map { "\($0.root.name):\($0.below)" } == "data:podcasts2/a.wav"
        )
        #expect(roots.place(of: "/srv/a.wav") == nil)
        #expect(usual.place(of: "/srv/a.wav").map { "\($0.root.name):\($0.below)" } == "local:srv/a.wav")
    }

    /// A combining mark after a slash is part of the following name.
    @Test func aNameMayBeginWithACombiningMark() throws {
        let place = try #require(roots.place(of: roots.absolute("/data/x/../\u{301}a.wav")))
        #expect(place.root.name == "data" && place.below.utf8.elementsEqual("\u{301}a.wav".utf8))
        #expect(roots.absolute("/\u{301}a/../b") == "/b")
        let template = try roots.template("/data/{{\u{301}/{stem}\u{301}.mp3").text
        #expect(template.utf8.elementsEqual("data:{{\u{301}/{stem}\u{301}.mp3".utf8))
    }

    @Test func foldersThatOnlyLookTheSameAreTwo() throws {
        let composed = PathRoots([.init(name: "in", path: "/srv/\u{E9}")], home: nil, here: "/")
        #expect(composed.place(of: "/srv/\u{E9}/a.wav") != nil)
        #expect(composed.place(of: "/srv/e\u{301}/a.wav") == nil)
    }

    @Test func locationsAreKnownFromPaths() {
        for word in ["archive:a.wav", "a-b_1:x/y.wav", "a:"] { #expect(PathRoots.isLocation(word), "\(word)") }
        for word in ["./archive:a.wav", "/x:y", "a b:c.wav", ":a", "plain.wav", "x/y:z.wav"] {
            #expect(!PathRoots.isLocation(word), "\(word)")
        }
    }

    @Test(arguments: [
        ("out:{dir}/{stem}.mp3", "out:{dir}/{stem}.mp3"),
        ("/data/out/{dir}/{stem}.mp3", "data:out/{dir}/{stem}.mp3"),
        ("{stem}.mp3", "pods:2020/{stem}.mp3"),
        ("../mp3/{dir}/{stem}.mp3", "pods:mp3/{dir}/{stem}.mp3"),
        ("/data/podcasts/{stem}.mp3", "pods:{stem}.mp3"),
        ("/data/x{{y}}/{stem}.mp3", "data:x{{y}}/{stem}.mp3"),
        ("/data/pre-{stem}.mp3", "data:pre-{stem}.mp3"),
        ("/data/all.mp3", "data:all.mp3"),
    ])
    func templatesHangBelowARoot(text: String, expected: String) throws {
        #expect(try roots.template(text).text == expected)
    }

    @Test func templatesBeginAtHomeOrHere() throws {
        #expect(try usual.template("~/out/{stem}.mp3").text == "local:home/ada/out/{stem}.mp3")
        #expect(try usual.template("out/{stem}.mp3").text == "local:srv/{{in}}/out/{stem}.mp3")
    }

    @Test(arguments: ["/srv/{stem}.mp3", "{nothing}.mp3", "out:{stem", "out:../{stem}.mp3", "http:{stem}.mp3"])
    func templatesThatLeadNowhereAreRefused(text: String) {
        #expect(throws: UsageError.self) { try roots.template(text) }
    }
}

/// Which files of a folder a submission takes.
struct NameFilterTests {
    private func answer(_ path: String, _ includes: [String] = [], _ excludes: [String] = []) -> NameFilter.Answer {
        let name = String(path.split(separator: "/").last ?? "")
        return NameFilter(includes: includes, excludes: excludes).answer(name: name, path: path)
    }

    @Test func soundIsMeantUnlessSaidOtherwise() {
        for name in ["a.wav", "A.WAV", "b/c.FLAC", "x.opus", "x.ape", "x.wma"] {
            #expect(answer(name) == .taken, "\(name)")
        }
        for name in ["cover.jpg", "notes.txt", "wav", "a.wav.bak"] { #expect(answer(name) == .otherKind, "\(name)") }
    }

    @Test func globsAreThoseOfShells() {
        #expect(answer("a/b.wav", ["*.wav"]) == .taken)
        #expect(answer("a/b.WAV", ["*.wav"]) == .taken, "recorders write capitals")
        let strict = NameFilter(includes: ["*.wav"], excludes: [], matchesCase: true)
        #expect(strict.answer(name: "b.WAV", path: "a/b.WAV") == .left)
        #expect(answer("a/b.pcm", ["*.pcm", "*.raw"]) == .taken)
        #expect(answer("2020/ep-1.wav", ["2020/*.wav"]) == .taken)
        #expect(answer("2020/x/ep-1.wav", ["2020/*.wav"]) == .left)
        #expect(answer("a/b.wav", ["/a/*"]) == .taken)
        #expect(answer("[x].wav", ["\\[x\\].wav"]) == .taken)
    }

    @Test func leavingOutGoesFirst() {
        #expect(answer("a/draft-1.wav", ["*.wav"], ["draft-*"]) == .left)
        #expect(answer("a/draft-1.wav", [], ["a/*"]) == .left)
        let filter = NameFilter(includes: [], excludes: ["old"])
        #expect(!filter.enters(name: "old", path: "x/old") && filter.enters(name: "older", path: "older"))
    }
}
