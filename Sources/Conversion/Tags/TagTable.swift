/// The one table of tags: what each is called in every format.
///
/// Names, and those in ID3, Vorbis comments, MP4, APEv2 and ASF, are MusicBrainz Picard's. Those of Matroska are from its
/// tag list, those of RIFF are what players show. docs/tags.md prints the table.
public enum TagTable {
    /// All rows, by subject.
    public static let rows: [TagRow] = [albums, people, titles, identifiers, episodes, loudness].flatMap { $0 }

    /// Albums, and places in them.
    private static let albums: [TagRow] = [
        TagRow(
            "album",
            id3: "TALB|TAL",
            mp4: "©alb",
            ape: "Album",
            matroska: "ALBUM",
            riff: "IPRD",
            asf: "WM/AlbumTitle"
        ),
        TagRow("albumsort", id3: "TSOA|TSA", mp4: "soal", asf: "WM/AlbumSortOrder", libav: "album-sort|sort_album"),
        TagRow("barcode", id3: "TXXX:BARCODE", mp4: "----:BARCODE", ape: "Barcode", asf: "WM/Barcode"),
        TagRow(
            "catalognumber",
            id3: "TXXX:CATALOGNUMBER",
            mp4: "----:CATALOGNUMBER",
            ape: "CatalogNumber",
            matroska: "CATALOG_NUMBER",
            asf: "WM/CatalogNo"
        ),
        TagRow(
            "compilation",
            id3: "TCMP|TCP",
            mp4: "cpil",
            ape: "Compilation",
            matroska: "COMPILATION",
            asf: "WM/IsCompilation"
        ),
        TagRow(
            "discnumber",
            id3: "TPOS|TPA",
            mp4: "disk",
            ape: "Disc",
            matroska: "DISC",
            asf: "WM/PartOfSet",
            libav: "disc"
        ),
        TagRow(
            "discsubtitle",
            id3: "TSST",
            id3v23: "TXXX:DISCSUBTITLE|TSST",
            mp4: "----:DISCSUBTITLE",
            ape: "DiscSubtitle",
            asf: "WM/SetSubTitle"
        ),
        TagRow(
            "label",
            id3: "TPUB|TPB",
            mp4: "----:LABEL",
            ape: "Label",
            matroska: "LABEL|PUBLISHER",
            riff: "IPUB",
            asf: "WM/Publisher",
            libav: "publisher"
        ),
        TagRow("media", id3: "TMED|TMT", mp4: "----:MEDIA", ape: "Media", riff: "IMED", asf: "WM/Media"),
        TagRow("originalalbum", id3: "TOAL|TOT", asf: "WM/OriginalAlbumTitle"),
        TagRow(
            "releasecountry",
            id3: "TXXX:MusicBrainz Album Release Country",
            mp4: "----:MusicBrainz Album Release Country",
            riff: "ICNT",
            asf: "MusicBrainz/Album Release Country"
        ),
        TagRow(
            "releasestatus",
            id3: "TXXX:MusicBrainz Album Status",
            mp4: "----:MusicBrainz Album Status",
            ape: "MUSICBRAINZ_ALBUMSTATUS",
            asf: "MusicBrainz/Album Status"
        ),
        TagRow(
            "releasetype",
            id3: "TXXX:MusicBrainz Album Type",
            mp4: "----:MusicBrainz Album Type",
            ape: "MUSICBRAINZ_ALBUMTYPE",
            asf: "MusicBrainz/Album Type"
        ),
        TagRow("totaldiscs", totalOf: "discnumber", vorbis: "DISCTOTAL|TOTALDISCS", ape: ""),
        TagRow(
            "totaltracks",
            totalOf: "tracknumber",
            vorbis: "TRACKTOTAL|TOTALTRACKS",
            ape: "",
            matroska: "TOTAL_PARTS"
        ),
        TagRow(
            "tracknumber",
            id3: "TRCK|TRK",
            mp4: "trkn",
            ape: "Track",
            matroska: "PART_NUMBER",
            riff: "ITRK|IPRT",
            asf: "WM/TrackNumber",
            libav: "track"
        ),
    ]

    /// People. ID3 keeps some of them in lists of a role and a name: `TIPL` and `TMCL`, in ID3v2.3 `IPLS`.
    private static let people: [TagRow] = [
        TagRow(
            "albumartist",
            id3: "TPE2|TP2",
            mp4: "aART",
            ape: "Album Artist",
            matroska: "ALBUM_ARTIST",
            asf: "WM/AlbumArtist",
            libav: "album_artist"
        ),
        TagRow(
            "albumartistsort",
            id3: "TSO2",
            mp4: "soaa",
            asf: "WM/AlbumArtistSortOrder",
            libav: "sort_album_artist"
        ),
        TagRow("arranger", id3: "TIPL:arranger", id3v23: "IPLS:arranger", ape: "Arranger", matroska: "ARRANGER"),
        TagRow(
            "artist",
            id3: "TPE1|TP1",
            mp4: "©ART",
            ape: "Artist",
            matroska: "ARTIST",
            riff: "IART",
            asf: "Author"
        ),
        TagRow("artists", id3: "TXXX:Artists", mp4: "----:ARTISTS", ape: "Artists", asf: "WM/ARTISTS"),
        TagRow("artistsort", id3: "TSOP|TSP", mp4: "soar", asf: "WM/ArtistSortOrder", libav: "artist-sort|sort_artist"),
        TagRow(
            "composer",
            id3: "TCOM|TCM",
            mp4: "©wrt",
            ape: "Composer",
            matroska: "COMPOSER",
            riff: "IMUS",
            asf: "WM/Composer"
        ),
        TagRow("composersort", id3: "TSOC", mp4: "soco", asf: "WM/ComposerSortOrder", libav: "sort_composer"),
        TagRow(
            "conductor",
            id3: "TPE3|TP3",
            mp4: "----:CONDUCTOR",
            ape: "Conductor",
            matroska: "CONDUCTOR",
            asf: "WM/Conductor",
            libav: "performer"
        ),
        TagRow(
            "djmixer",
            id3: "TIPL:DJ-mix",
            id3v23: "IPLS:DJ-mix",
            mp4: "----:DJMIXER",
            ape: "DJMixer",
            asf: "WM/DJMixer"
        ),
        TagRow(
            "engineer",
            id3: "TIPL:engineer",
            id3v23: "IPLS:engineer",
            mp4: "----:ENGINEER",
            ape: "Engineer",
            matroska: "SOUND_ENGINEER",
            riff: "IENG",
            asf: "WM/Engineer"
        ),
        TagRow(
            "lyricist",
            id3: "TEXT|TXT",
            mp4: "----:LYRICIST",
            ape: "Lyricist",
            matroska: "LYRICIST",
            riff: "IWRI",
            asf: "WM/Writer"
        ),
        TagRow(
            "mixer",
            id3: "TIPL:mix",
            id3v23: "IPLS:mix",
            mp4: "----:MIXER",
            ape: "Mixer",
            matroska: "MIXED_BY",
            asf: "WM/Mixer"
        ),
        TagRow("originalartist", id3: "TOPE|TOA", ape: "Original Artist", asf: "WM/OriginalArtist"),
        TagRow(
            "performer",
            id3: "TMCL",
            id3v23: "IPLS",
            ape: "Performer",
            matroska: "LEAD_PERFORMER",
            riff: "ISTR"
        ),
        TagRow(
            "producer",
            id3: "TIPL:producer",
            id3v23: "IPLS:producer",
            mp4: "----:PRODUCER",
            ape: "Producer",
            matroska: "PRODUCER",
            riff: "IPRO",
            asf: "WM/Producer"
        ),
        TagRow(
            "remixer",
            id3: "TPE4|TP4",
            mp4: "----:REMIXER",
            ape: "MixArtist",
            matroska: "REMIXED_BY",
            riff: "IEDT",
            asf: "WM/ModifiedBy"
        ),
        TagRow("writer", id3: "TXXX:Writer", ape: "Writer", matroska: "WRITTEN_BY"),
    ]

    /// What is heard, and how it was made.
    private static let titles: [TagRow] = [
        TagRow("bpm", id3: "TBPM|TBP", mp4: "tmpo", matroska: "BPM", riff: "IBPM", asf: "WM/BeatsPerMinute"),
        TagRow(
            "comment",
            id3: "COMM|COM",
            vorbis: "COMMENT|DESCRIPTION",
            mp4: "©cmt",
            ape: "Comment",
            matroska: "COMMENT",
            riff: "ICMT",
            asf: "Description"
        ),
        TagRow(
            "copyright",
            id3: "TCOP|TCR",
            mp4: "cprt",
            ape: "Copyright",
            matroska: "COPYRIGHT",
            riff: "ICOP",
            asf: "Copyright"
        ),
        TagRow(
            "date",
            id3: "TDRC|TYER|TYE",
            id3v23: "TYER|TDRC|TYE",
            mp4: "©day",
            ape: "Year",
            matroska: "DATE|DATE_RELEASED",
            riff: "ICRD",
            asf: "WM/Year"
        ),
        TagRow(
            "encodedby",
            id3: "TENC|TEN",
            // MP4's ©too has the name of a program in nearly all files, and libav calls it the encoder.
            mp4: "----:ENCODEDBY",
            ape: "EncodedBy",
            matroska: "ENCODED_BY",
            riff: "ITCH",
            asf: "WM/EncodedBy",
            libav: "encoded_by"
        ),
        TagRow(
            "encodersettings",
            id3: "TSSE|TSS",
            mp4: "©too",
            ape: "EncoderSettings",
            matroska: "ENCODER_SETTINGS",
            riff: "ISFT",
            asf: "WM/EncodingSettings",
            libav: "encoder"
        ),
        TagRow(
            "genre",
            id3: "TCON|TCO",
            mp4: "©gen",
            ape: "Genre",
            matroska: "GENRE",
            riff: "IGNR",
            asf: "WM/Genre"
        ),
        TagRow("grouping", id3: "TIT1|TT1|GRP1", mp4: "©grp", ape: "Grouping", asf: "WM/ContentGroupDescription"),
        TagRow("isrc", id3: "TSRC|TRC", mp4: "----:ISRC", matroska: "ISRC", asf: "WM/ISRC"),
        TagRow("key", id3: "TKEY|TKE", mp4: "----:initialkey", matroska: "INITIAL_KEY", asf: "WM/InitialKey"),
        TagRow(
            "language",
            id3: "TLAN|TLA",
            mp4: "----:LANGUAGE",
            ape: "Language",
            riff: "ILNG",
            asf: "WM/Language"
        ),
        TagRow("license", id3: "WCOP|WCP", mp4: "----:LICENSE", matroska: "LICENSE"),
        TagRow("lyrics", id3: "USLT|ULT", mp4: "©lyr", ape: "Lyrics", matroska: "LYRICS", asf: "WM/Lyrics"),
        TagRow(
            "mood",
            id3: "TMOO",
            id3v23: "TXXX:MOOD|TMOO",
            mp4: "----:MOOD",
            ape: "Mood",
            matroska: "MOOD",
            asf: "WM/Mood"
        ),
        TagRow("movement", id3: "MVNM", vorbis: "MOVEMENTNAME", mp4: "©mvn", ape: "MOVEMENTNAME"),
        TagRow("movementnumber", id3: "MVIN", vorbis: "MOVEMENT", mp4: "©mvi", ape: "MOVEMENT"),
        TagRow("movementtotal", totalOf: "movementnumber", mp4: "©mvc"),
        TagRow(
            "originaldate",
            id3: "TDOR",
            id3v23: "TORY|TOR|TDOR",
            asf: "WM/OriginalReleaseTime"
        ),
        TagRow("originalfilename", id3: "TOFN|TOF", asf: "WM/OriginalFilename", libav: "filename"),
        TagRow("originalyear", asf: "WM/OriginalReleaseYear"),
        TagRow("script", id3: "TXXX:SCRIPT", mp4: "----:SCRIPT", ape: "Script", asf: "WM/Script"),
        TagRow("showmovement", id3: "TXXX:SHOWMOVEMENT", mp4: "shwm"),
        TagRow(
            "subtitle",
            id3: "TIT3|TT3",
            mp4: "----:SUBTITLE",
            ape: "Subtitle",
            matroska: "SUBTITLE",
            asf: "WM/SubTitle"
        ),
        TagRow("title", id3: "TIT2|TT2", mp4: "©nam", ape: "Title", matroska: "TITLE", riff: "INAM", asf: "Title"),
        TagRow("titlesort", id3: "TSOT|TST", mp4: "sonm", asf: "WM/TitleSortOrder", libav: "title-sort|sort_name"),
        TagRow("website", id3: "WOAR|WAR", ape: "Weblink", asf: "WM/AuthorURL"),
        TagRow("work", id3: "TXXX:WORK", mp4: "©wrk", asf: "WM/Work"),
    ]

    /// Numbers by which databases know a piece.
    private static let identifiers: [TagRow] = [
        TagRow("acoustid_fingerprint", "Acoustid Fingerprint", asf: "Acoustid/Fingerprint"),
        TagRow("acoustid_id", "Acoustid Id", asf: "Acoustid/Id"),
        TagRow("asin", "ASIN", asf: "ASIN"),
        TagRow("musicbrainz_albumartistid", "MusicBrainz Album Artist Id", asf: "MusicBrainz/Album Artist Id"),
        TagRow("musicbrainz_albumid", "MusicBrainz Album Id", asf: "MusicBrainz/Album Id"),
        TagRow("musicbrainz_artistid", "MusicBrainz Artist Id", asf: "MusicBrainz/Artist Id"),
        TagRow("musicbrainz_discid", "MusicBrainz Disc Id", asf: "MusicBrainz/Disc Id"),
        TagRow("musicbrainz_originalalbumid", "MusicBrainz Original Album Id", asf: "MusicBrainz/Original Album Id"),
        TagRow("musicbrainz_originalartistid", "MusicBrainz Original Artist Id", asf: "MusicBrainz/Original Artist Id"),
        TagRow(
            "musicbrainz_recordingid",
            id3: "UFID:http://musicbrainz.org",
            vorbis: "MUSICBRAINZ_TRACKID",
            mp4: "----:MusicBrainz Track Id",
            ape: "MUSICBRAINZ_TRACKID",
            asf: "MusicBrainz/Track Id"
        ),
        TagRow("musicbrainz_releasegroupid", "MusicBrainz Release Group Id", asf: "MusicBrainz/Release Group Id"),
        TagRow(
            "musicbrainz_trackid",
            "MusicBrainz Release Track Id",
            comment: "MUSICBRAINZ_RELEASETRACKID",
            asf: "MusicBrainz/Release Track Id"
        ),
        TagRow("musicbrainz_workid", "MusicBrainz Work Id", asf: "MusicBrainz/Work Id"),
        TagRow("musicip_puid", "MusicIP PUID", asf: "MusicIP/PUID"),
    ]

    /// Podcasts and shows, which Apple's players tell apart.
    private static let episodes: [TagRow] = [
        TagRow("gapless", mp4: "pgap", libav: "gapless_playback"),
        TagRow("podcast", id3: "PCST", mp4: "pcst"),
        TagRow("podcasturl", id3: "WFED", mp4: "purl", libav: "podcast_url"),
        TagRow("show", mp4: "tvsh"),
        TagRow("showsort", mp4: "sosn", libav: "sort_show"),
    ]

    /// What a scanner has measured. docs/loudness.md says which of them a conversion keeps.
    private static let loudness: [TagRow] = [
        TagRow("replaygain_album_gain", "REPLAYGAIN_ALBUM_GAIN", asf: "REPLAYGAIN_ALBUM_GAIN"),
        TagRow("replaygain_album_peak", "REPLAYGAIN_ALBUM_PEAK", asf: "REPLAYGAIN_ALBUM_PEAK"),
        TagRow("replaygain_album_range", "REPLAYGAIN_ALBUM_RANGE", asf: "REPLAYGAIN_ALBUM_RANGE"),
        TagRow("replaygain_reference_loudness", "REPLAYGAIN_REFERENCE_LOUDNESS", asf: "REPLAYGAIN_REFERENCE_LOUDNESS"),
        TagRow("replaygain_track_gain", "REPLAYGAIN_TRACK_GAIN", asf: "REPLAYGAIN_TRACK_GAIN"),
        TagRow("replaygain_track_peak", "REPLAYGAIN_TRACK_PEAK", asf: "REPLAYGAIN_TRACK_PEAK"),
        TagRow("replaygain_track_range", "REPLAYGAIN_TRACK_RANGE", asf: "REPLAYGAIN_TRACK_RANGE"),
    ]
}

extension TagRow {
    /// A tag that has the free name `free` in ID3 and MP4, and the name `comment` in Vorbis comments and APEv2.
    fileprivate init(_ name: String, _ free: String, comment: String? = nil, asf: String) {
        self.init(name, id3: "TXXX:" + free, vorbis: comment, mp4: "----:" + free, ape: comment, asf: asf)
    }
}
