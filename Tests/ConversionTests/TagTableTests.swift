import Conversion
import TestSupport
import Testing

@Suite struct TagTableTests {
    @Test func pageShowsTheTable() throws {
        let difference = try GeneratedPage.difference(of: "tags.md", from: TagTable.markdown, between: "<!-- tags: ")
        #expect(difference == nil)
    }

    @Test func noNameOccursTwice() {
        let names = TagTable.rows.map(\.name)
        #expect(Set(names).count == names.count)
        for format in TagFormat.allCases {
            let natives = TagTable.rows.flatMap { $0.names[format] ?? [] }.map { $0.lowercased() }
            #expect(Set(natives).count == natives.count, "\(format)")
        }
    }

    @Test(arguments: TagFormat.allCases) func everyNameLeadsBackToItsRow(format: TagFormat) {
        for row in TagTable.rows {
            for native in row.names[format] ?? [] {
                #expect(TagTable.name(of: native, in: format) == .common(row.name), "\(native)")
                #expect(TagTable.name(of: native.uppercased(), in: format) == .common(row.name), "\(native)")
            }
            let name = TagName.common(row.name)
            guard row.totalOf == nil, let native = TagTable.native(for: name, in: format) else { continue }
            #expect(TagTable.name(of: native, in: format) == name, "\(native)")
        }
    }

    @Test func totalsAreBehindNumbersOfTheTable() {
        for row in TagTable.rows {
            guard let number = row.totalOf else { continue }
            #expect(TagTable.row(number)?.totalOf == nil && TagTable.row(number) != nil, "\(row.name)")
        }
    }

    /// The tags that nearly all collections have.
    @Test(arguments: [
        "title", "artist", "album", "albumartist", "composer", "genre", "date", "tracknumber", "discnumber", "comment",
        "copyright", "lyrics", "isrc", "bpm", "compilation",
    ])
    func commonTagsHaveANameInEveryFormat(name: String) throws {
        let row = try #require(TagTable.row(name))
        for format in TagFormat.allCases where format != .riff {
            #expect(row.names[format]?.isEmpty == false, "\(format)")
        }
    }

    @Test func madeUpNamesAreTheSameInAllFormats() {
        let name = TagName.custom("MYFIELD")
        let natives: [TagFormat: String?] = [
            .id3: "TXXX:MYFIELD", .id3v23: "TXXX:MYFIELD", .vorbis: "MYFIELD", .mp4: "----:MYFIELD", .ape: "MYFIELD",
            .matroska: "MYFIELD", .asf: "MYFIELD", .riff: nil,
        ]
        for (format, native) in natives {
            #expect(TagTable.native(for: name, in: format) == native, "\(format)")
            if let native { #expect(TagTable.name(of: native, in: format) == name, "\(format)") }
        }
    }

    @Test(arguments: [
        ("ALBUM_ARTIST", "albumartist"), ("AlbumArtist", "albumartist"), ("lyrics-deu", "lyrics"),
        ("My Field", "my field"),
    ])
    func namesOfOneTagHaveOneInCommon(key: String, name: String) {
        #expect(TagTable.commonName(ofKey: key) == name)
    }

    @Test func namesThatOnlyOneFormatHasStayThere() {
        let volume = TagTable.name(of: "RVA2", in: .id3)
        #expect(volume == .native("RVA2", .id3))
        #expect(TagTable.native(for: volume, in: .id3) == "RVA2")
        #expect(TagTable.native(for: volume, in: .vorbis) == nil)
    }

    @Test func commonNamesAreKnownWhereTheyAreNotAtHome() {
        #expect(TagTable.name(of: "TXXX:isrc", in: .id3) == .common("isrc"))
        #expect(TagTable.native(for: .common("arranger"), in: .mp4) == "----:ARRANGER")
        // Vorbis comments call a recording what the table calls by another name.
        #expect(TagTable.name(of: "MUSICBRAINZ_TRACKID", in: .vorbis) == .common("musicbrainz_recordingid"))
    }
}

@Suite struct TagsTests {
    @Test func valuesOfOneNameAreKeptInOrder() {
        var tags = Tags()
        tags.add(["One"], native: "ARTIST", in: .vorbis)
        tags.add(["Song"], native: "TITLE", in: .vorbis)
        tags.add(["Two", "Three"], native: "Artist", in: .vorbis)
        #expect(tags[.common("artist")] == ["One", "Two", "Three"])
        #expect(tags.texts.map(\.native) == ["ARTIST", "TITLE"])
        #expect(tags[.common("album")] == [])
    }

    @Test func numbersAreDividedFromTheirTotals() {
        var tags = Tags()
        tags.add(["3/12"], native: "TRCK", in: .id3)
        tags.add(["1"], native: "TPOS", in: .id3)
        tags.add(["/7"], native: "DISCNUMBER", in: .vorbis)
        #expect(tags[.common("tracknumber")] == ["3"])
        #expect(tags[.common("totaltracks")] == ["12"])
        #expect(tags[.common("discnumber")] == ["1"])
        #expect(tags[.common("totaldiscs")] == ["7"])
    }

    @Test func setNumbersAreDividedFromTheirTotals() {
        let tags: [String: Recipe.TagValues] = ["track": "3/12", "DISCNUMBER": "1/2", "totaldiscs": "4", "mood": "5/6"]
        var divided = tags
        (divided["track"], divided["TRACKTOTAL"], divided["DISCNUMBER"]) = ("3", "12", "1")
        #expect(tags.dividingTotals == divided)
        let alone: [String: Recipe.TagValues] = ["tracknumber": "/12"]
        #expect(alone.dividingTotals == ["TRACKTOTAL": "12"])
        for value in ["A/B", "3", "3/"] {
            let whole: [String: Recipe.TagValues] = ["tracknumber": Recipe.TagValues(value)]
            #expect(whole.dividingTotals == whole, "\(value)")
        }
        #expect(TagNumbers(["3/12", "4/12"])?.numbers == ["3", "4"])
        #expect(TagNumbers(["3/12", "4/15"]) == nil)
    }

    @Test func ofTwoNamesForOneTagTheFirstCounts() {
        var tags = Tags()
        tags.add(["2001-02-03"], native: "TDRC", in: .id3)
        tags.add(["2001"], native: "TYER", in: .id3)
        #expect(tags[.common("date")] == ["2001-02-03"])
    }

    @Test func caseOfMadeUpNamesDoesNotMatter() {
        var tags = Tags()
        tags.add(["a"], native: "TXXX:Mine", in: .id3)
        tags.add(["b"], native: "TXXX:MINE", in: .id3)
        #expect(tags[.custom("mine")] == ["a", "b"])
    }
}
