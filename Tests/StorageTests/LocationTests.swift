import Conversion
import Storage
import TestSupport
import Testing

struct LocationTests {
    @Test func onePlaceHasOneSpelling() throws {
        let location = try Location("archive:2024/./live//a.wav")
        #expect(location.root == "archive")
        #expect(location.path == "2024/live/a.wav")
        #expect(location.folder == "2024/live")
        #expect(location.name == "a.wav")
        #expect("\(location)" == "archive:2024/live/a.wav")
        #expect(try location == Location("\(location)"))
        #expect(try Location("archive:a:b.wav").path == "a:b.wav")
        #expect(try Location("archive:a.wav").folder == "")
    }

    /// To Swift a letter and a combining mark after it are one character, and so are a slash and a mark.
    @Test func marksHideNoSlashAndNoColon() throws {
        let location = try Location("archive:\u{301}a/\u{301}b.wav")
        #expect(location.root == "archive")
        #expect(location.folder.utf8.elementsEqual("\u{301}a".utf8))
        #expect(location.name.utf8.elementsEqual("\u{301}b.wav".utf8))
        #expect(try Location("\(location)") == location)
        for (text, code) in [
            ("archive:/\u{301}a", FailureCode.invalidLocation), ("archive:a/\u{301}/", .invalidLocation),
            ("archive:a/\u{301}x/../b", .outsideRoot),
        ] {
            #expect(throws: StorageError.self) { try Location(text) }
            do { _ = try Location(text) } catch { #expect(error.code == code, "\(text)") }
        }
        let template = try DestinationTemplate("out:{dir}/{stem}\u{301}.{ext}")
        let made = try template.location(for: location, ext: "mp3", preset: nil, id: nil)
        #expect(made.path.utf8.elementsEqual("\u{301}a/\u{301}b\u{301}.mp3".utf8))
    }

    @Test func aPathHasAsManyBytesAsTheKernelTakes() throws {
        let longest = Array(repeating: String(repeating: "a", count: 255), count: 16).joined(separator: "/")
        #expect(longest.utf8.count == 4_095)
        #expect(try Location("in:" + longest).path == longest)
        let error = #expect(throws: StorageError.self) { try Location("in:" + longest + "b") }
        #expect(error?.code == .invalidLocation)
        #expect(error?.detail == "its path has 4096 bytes; the limit is 4095")
    }

    /// To the kernel these are two files in one folder.
    @Test func namesThatOnlyLookTheSameAreTwoPlaces() throws {
        let places = try [Location("in:\u{E9}.wav"), Location("in:e\u{301}.wav")]
        #expect(places[0] != places[1])
        #expect(Set(places).count == 2)
    }

    /// Most paths are recognised as good by their bytes alone. The expectation is computed in another way, by scalars.
    @Test func pathsOfAllSpellingsAreJudgedByTheirNames() throws {
        let pieces = [
            "a", ".", "/", "\u{301}", "\u{E9}", "\u{A9}", "\u{2019}", "\u{202E}", "\u{3042}", "\u{1F3B5}", "\u{85}",
            "\u{2028}", "\u{2029}", "\n", "\u{7F}",
        ]
        var generator = SeededGenerator(seed: 15)
        var taken = 0
        for _ in 0..<20_000 {
            var path = ""
            for _ in 0..<Int.random(in: 0...7, using: &generator) {
                let kinds = Bool.random(using: &generator) ? 4 : pieces.count
                path += pieces[Int.random(in: 0..<kinds, using: &generator)]
            }
            let names = path.unicodeScalars.split(separator: "/").map { String(String.UnicodeScalarView($0)) }
            let isShowable = path.unicodeScalars.allSatisfy {
                ![.control, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
            }
            let ends = path.unicodeScalars.first == "/" || path.unicodeScalars.last == "/" || names.last == "."
            let isGood = isShowable && !ends && !names.isEmpty && !names.contains("..")
            // `try?`: here only whether a path is refused matters; `refused` below tells the code of each reason.
            let location = try? Location("in:" + path)
            #expect((location != nil) == isGood, "\(path.debugDescription)")
            if let location {
                taken += 1
                let expected = names.filter { $0 != "." }.joined(separator: "/")
                #expect(location.path.utf8.elementsEqual(expected.utf8), "\(path.debugDescription)")
            }
        }
        #expect(taken > 1_000)
    }

    static let refused: [(String, FailureCode)] = [
        ("", .invalidLocation), ("a.wav", .invalidLocation), ("/mnt/a.wav", .invalidLocation),
        (":a.wav", .invalidLocation), ("archive:", .invalidLocation), ("archive:/a.wav", .invalidLocation),
        ("archive:a/", .invalidLocation), ("archive:a/.", .invalidLocation), ("archive:.", .invalidLocation),
        ("archive://", .invalidLocation), ("http://a/b", .invalidLocation), ("file:a", .invalidLocation),
        ("s3:bucket/a", .invalidLocation), ("a b:c", .invalidLocation), ("ärchive:a", .invalidLocation),
        ("archive:a\0b", .invalidLocation), ("archive:a\nb", .invalidLocation), ("archive:a\u{7F}", .invalidLocation),
        ("archive:a\u{9B}b", .invalidLocation), ("archive:a\u{85}", .invalidLocation),
        ("archive:a\u{2028}b", .invalidLocation),
        ("archive:..", .outsideRoot), ("archive:../a", .outsideRoot), ("archive:a/../b", .outsideRoot),
        ("archive:a/..", .outsideRoot), ("archive:./../a", .outsideRoot), ("archive:a//..//b", .outsideRoot),
    ]

    @Test(arguments: refused)
    func whatIsNoPlaceBelowARootIsRefused(text: String, code: FailureCode) {
        let error = #expect(throws: StorageError.self) { try Location(text) }
        #expect(error?.code == code)
    }
}

struct DestinationTemplateTests {
    static let expanded: [(String, String, String)] = [
        ("out:{dir}/{stem}.{ext}", "in:2024/live/a.b.wav", "out:2024/live/a.b.opus"),
        ("out:{dir}/{stem}.{ext}", "in:a.wav", "out:a.opus"),
        ("out:x/{dir}/{stem}.{ext}", "in:a.wav", "out:x/a.opus"),
        ("out:{preset}/{id}-{stem}.{ext}", "in:a.wav", "out:speech-16k/42-a.opus"),
        ("out:{{{stem}}}.{ext}", "in:a.wav", "out:{a}.opus"),
        ("out:{stem}-{source-ext}.{ext}", "in:a.b.FLAC", "out:a.b-FLAC.opus"),
        ("out:{stem}", "in:.hidden", "out:.hidden"),
        ("out:{stem}", "in:noextension", "out:noextension"),
    ]

    @Test(arguments: expanded)
    func fieldsAreFilled(template: String, source: String, destination: String) throws {
        let location = try DestinationTemplate(template)
            .location(for: Location(source), ext: "opus", preset: "speech-16k", id: 42)
        #expect("\(location)" == destination)
    }

    @Test(arguments: [
        ("out:{steam}.{ext}", "{steam}"), ("{stem}", "root"), ("out:{stem", "unmatched {"), ("out:a}", "unmatched }"),
        ("out:{}", "{}"), ("http:{stem}", "http"),
    ])
    func whatIsNoTemplateIsRefusedWithTheReason(template: String, reason: String) {
        let error = #expect(throws: StorageError.self) { try DestinationTemplate(template) }
        #expect(error?.code == .invalidTemplate)
        #expect(error?.detail.contains(reason) == true)
    }

    @Test func templateThatNeverLeadsToAFileIsRefusedAtOnce() {
        #expect(throws: StorageError.self) { try DestinationTemplate("out:../{stem}.{ext}") }
        #expect(throws: StorageError.self) { try DestinationTemplate("out:{dir}/") }
    }

    @Test(arguments: ["in:noextension", "in:.hidden", "in:dot."])
    func aSourceWithoutAnExtensionHasNone(source: String) throws {
        let template = try DestinationTemplate("out:{stem}-{source-ext}.{ext}")
        let error = #expect(throws: StorageError.self) {
            try template.location(for: Location(source), ext: "wav", preset: nil, id: nil)
        }
        #expect(error?.detail.contains("no value for {source-ext}") == true)
    }

    @Test func fieldWithoutAValueIsRefused() throws {
        let template = try DestinationTemplate("out:{preset}/{stem}")
        #expect(template.fields == [.preset, .stem])
        let source = try Location("in:a.wav")
        for preset in [nil, "", "a/b"] {
            let error = #expect(throws: StorageError.self) {
                try template.location(for: source, ext: "wav", preset: preset, id: nil)
            }
            #expect(error?.code == .invalidTemplate)
        }
    }

    /// Bytes are split in the same way as scalars, also beside marks that combine with a slash.
    @Test(arguments: [
        "", "/", "//", "a", "/a", "a/", "/a/b.wav", "a//b/", "./a/../b", "/./a", "/a/..", "a/\u{301}b",
        "/a\u{301}/\u{301}", "\u{2026}/e\u{301}.wav",
    ])
    func namesOfAPathAreThoseOfTheKernel(path: String) {
        let names = path.unicodeScalars.split(separator: "/").map { String(String.UnicodeScalarView($0)) }
        // Texts are equal, too, if only their marks are written in other ways.
        let (found, wanted) = (path.pathNames.map { Array($0.utf8) }, names.map { Array($0.utf8) })
        #expect(found == wanted)
        let last = path.lastPathName.map { Array($0.utf8) }
        #expect(last == wanted.last)
        let joined = "/" + names.joined(separator: "/")
        let isWritten = !names.isEmpty && Array(joined.utf8) == Array(path.utf8)
        let hasDots = names.contains(".") || names.contains("..")
        #expect(path.isPlainAbsolutePath == (isWritten && !hasDots))
        let isRelative = !names.isEmpty && Array(names.joined(separator: "/").utf8) == Array(path.utf8)
        #expect(path.isPlainRelativePath == (isRelative && !hasDots))
    }
}
