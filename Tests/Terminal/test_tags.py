"""Tags and chapters of outputs, as mutagen reads them."""

import struct
import subprocess
import zlib

import mutagen
import pytest
from mutagen.aiff import AIFF
from mutagen.flac import FLAC
from mutagen.id3 import ID3
from mutagen.mp4 import MP4
from mutagen.oggopus import OggOpus
from mutagen.oggvorbis import OggVorbis
from mutagen.wave import WAVE
from mutagen.wavpack import WavPack

from terminal import run

# Fifteen common tags, as comments of FLAC.
COMMENTS = {
    "TITLE": ["Žluťoučký kůň"], "ARTIST": ["One", "Two", "Three"], "ALBUM": ["Album"], "ALBUMARTIST": ["Various"],
    "COMPOSER": ["J. S. Bach"], "GENRE": ["Baroque", "Organ"], "DATE": ["1999-12-31"], "TRACKNUMBER": ["3"],
    "TRACKTOTAL": ["12"], "DISCNUMBER": ["1"], "DISCTOTAL": ["2"], "COMMENT": ["words"], "COPYRIGHT": ["© 2026"],
    "LYRICS": ["La la"], "ISRC": ["DEA061200001"], "BPM": ["120"], "COMPILATION": ["1"], "MYFIELD": ["a", "b"],
}
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8cfc0000003010100c9fe92ef"
    "0000000049454e44ae426082"
)


def convert(folder, name, source="tagged.flac"):
    terminal = run(["convert", source, name], folder)
    assert terminal.status == 0, terminal.text()
    return folder / name


@pytest.fixture
def tagged(folder):
    """A FLAC file with all of them, and two covers, in the folder."""
    path = convert(folder, "tagged.flac", "talk.wav")
    file = FLAC(path)
    for name, values in COMMENTS.items():
        file[name] = values
    for kind in [3, 4]:
        picture = mutagen.flac.Picture()
        picture.type, picture.mime, picture.data = kind, "image/png", PNG
        picture.width, picture.height, picture.depth = 1, 1, 24
        file.add_picture(picture)
    file.save()
    return folder


def comments(tags):
    """Comments by their names in capitals. The comment may be a description."""
    found = {name.upper(): values for name, values in tags.as_dict().items()}
    if "DESCRIPTION" in found:
        found["COMMENT"] = found.pop("DESCRIPTION")
    return found


@pytest.mark.parametrize(("name", "kind"), [("a.flac", FLAC), ("a.ogg", OggVorbis), ("a.opus", OggOpus)])
def test_comments_have_all_values(tagged, name, kind):
    found = comments(kind(convert(tagged, name)).tags)
    assert {name: found.get(name) for name in COMMENTS} == COMMENTS


@pytest.mark.parametrize("name", ["a.mp3", "a.aiff", "a.wav"])
def test_id3_has_all_values(tagged, name):
    path = convert(tagged, name)
    # What the file has, and not what mutagen makes of old frames.
    tags = ID3(path, translate=False) if name == "a.mp3" else {"a.aiff": AIFF, "a.wav": WAVE}[name](path).tags
    texts = {frame: list(map(str, tags[frame].text)) for frame in tags.keys() if hasattr(tags[frame], "text")}
    date = {"TYER": ["1999"], "TDAT": ["3112"]} if name == "a.mp3" else {"TDRC": ["1999-12-31"]}
    lyrics = tags["USLT::eng"].text
    assert lyrics == "La la"
    del texts["USLT::eng"]
    assert texts == {
        "TIT2": COMMENTS["TITLE"], "TPE1": COMMENTS["ARTIST"], "TALB": ["Album"], "TPE2": ["Various"],
        "TCOM": ["J. S. Bach"], "TCON": ["Baroque", "Organ"], "TRCK": ["3/12"], "TPOS": ["1/2"], "COMM::eng": ["words"],
        "TCOP": ["© 2026"], "TSRC": ["DEA061200001"], "TBPM": ["120"], "TCMP": ["1"], "TXXX:MYFIELD": ["a", "b"], **date,
    }
    covers = tags.getall("APIC")
    assert [(cover.type, cover.mime, cover.data) for cover in covers] == [(3, "image/png", PNG), (4, "image/png", PNG)]


def test_mp4_has_all_values(tagged):
    tags = MP4(convert(tagged, "a.m4a")).tags
    texts = {
        "©nam": "TITLE", "©ART": "ARTIST", "©alb": "ALBUM", "aART": "ALBUMARTIST", "©wrt": "COMPOSER", "©gen": "GENRE",
        "©day": "DATE", "©cmt": "COMMENT", "cprt": "COPYRIGHT", "©lyr": "LYRICS",
    }
    assert {item: tags.get(item) for item in texts} == {item: COMMENTS[name] for item, name in texts.items()}
    assert tags["trkn"] == [(3, 12)] and tags["disk"] == [(1, 2)] and tags["tmpo"] == [120] and tags["cpil"] is True
    free = {name: [bytes(value) for value in tags["----:com.apple.iTunes:" + name]] for name in ["ISRC", "MYFIELD"]}
    assert free == {"ISRC": [b"DEA061200001"], "MYFIELD": [b"a", b"b"]}
    assert [bytes(cover) for cover in tags["covr"]] == [PNG, PNG]


def test_ape_has_all_values(tagged):
    tags = WavPack(convert(tagged, "a.wv")).tags
    items = {
        "Title": "TITLE", "Artist": "ARTIST", "Album": "ALBUM", "Album Artist": "ALBUMARTIST", "Composer": "COMPOSER",
        "Genre": "GENRE", "Year": "DATE", "Comment": "COMMENT", "Copyright": "COPYRIGHT", "Lyrics": "LYRICS",
        "ISRC": "ISRC", "BPM": "BPM", "Compilation": "COMPILATION", "MYFIELD": "MYFIELD",
    }
    assert {item: list(tags[item]) for item in items} == {item: COMMENTS[name] for item, name in items.items()}
    assert list(tags["Track"]) == ["3/12"] and list(tags["Disc"]) == ["1/2"]
    assert tags["Cover Art (Front)"].value == tags["Cover Art (Back)"].value == b"cover.png\0" + PNG


def elements(content):
    """The elements of Matroska in some bytes."""
    place = 0
    while place < len(content):
        width = 9 - content[place].bit_length()
        number, place = content[place:place + width], place + width
        width = 9 - content[place].bit_length()
        size = int.from_bytes(content[place:place + width]) & (1 << 7 * width) - 1
        place += width
        yield number.hex(), content[place:place + size]
        place += size


def test_matroska_has_all_values(tagged):
    [_, (_, segment)] = elements(convert(tagged, "a.mka").read_bytes())
    [tags] = [content for number, content in elements(segment) if number == "1254c367"]
    # A checksum stands in front of all others.
    assert tags[:2] == b"\xbf\x84" and int.from_bytes(tags[2:6], "little") == zlib.crc32(tags[6:])
    found = {}
    for number, tag in elements(tags):
        for part in [dict(elements(part)) for kind, part in elements(tag) if kind == "67c8"] if number == "7373" else []:
            found.setdefault(part["45a3"].decode(), []).append(part["4487"].decode())
    names = {
        "ALBUMARTIST": "ALBUM_ARTIST", "TRACKNUMBER": "PART_NUMBER", "TRACKTOTAL": "TOTAL_PARTS", "DISCNUMBER": "DISC",
    }
    wanted = {names.get(name, name): values for name, values in COMMENTS.items() if name not in ["TITLE", "DISCTOTAL"]}
    assert {name: found.get(name) for name in wanted} == {**wanted, "DISC": ["1/2"]}


def test_tags_survive_a_way_through_all_formats(tagged):
    last = "tagged.flac"
    for name in ["1.mp3", "2.wv", "3.aiff", "4.m4a", "5.wav", "6.opus", "7.mka", "8.flac"]:
        convert(tagged, name, last)
        last = name
    found = comments(FLAC(tagged / last).tags)
    # FLAC takes the year and the day of MP3 as one date.
    assert {name: found.get(name) for name in COMMENTS} == COMMENTS
    assert [picture.data for picture in FLAC(tagged / last).pictures] == [PNG, PNG]


def test_a_player_finds_the_sound_behind_a_tag(tagged):
    path = convert(tagged, "a.mp3")
    assert path.read_bytes()[:4] == b"ID3\3"
    decoded = subprocess.run(["mpg123", "-q", "-t", path], capture_output=True, text=True)
    assert decoded.returncode == 0 and decoded.stderr == "", decoded.stderr


FRAMES = [0, 7777, 20001]


@pytest.fixture
def marked(folder):
    """`marked.wav`, with cue points at these frames, and titles for two of them."""

    def chunk(name, content):
        return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)

    cues = [struct.pack("<II4sIII", number, frame, b"data", 0, 0, frame) for number, frame in enumerate(FRAMES, 1)]
    labels = [chunk(b"labl", struct.pack("<I", number) + title) for number, title in [(1, b"One\0"), (2, b"Two\0")]]
    whole = (folder / "talk.wav").read_bytes() + chunk(b"cue ", struct.pack("<I", len(cues)) + b"".join(cues))
    whole += chunk(b"LIST", b"adtl" + b"".join(labels))
    (folder / "marked.wav").write_bytes(whole[:4] + struct.pack("<I", len(whole) - 8) + whole[8:])
    return folder


def test_chapters_of_mp4_are_at_their_frames(marked):
    chapters = MP4(convert(marked, "a.m4b", "marked.wav")).chapters
    assert [round(chapter.start * 48000) for chapter in chapters] == FRAMES
    assert [chapter.title for chapter in chapters] == ["One", "Two", ""]


def test_chapters_of_mp3_are_in_a_table(marked):
    tags = ID3(convert(marked, "a.mp3", "marked.wav"))
    names = tags["CTOC:toc"].child_element_ids
    chapters = [tags["CHAP:" + name] for name in names]
    assert [chapter.start_time for chapter in chapters] == [round(frame / 48) for frame in FRAMES]
    assert [chapter.end_time for chapter in chapters] == [*[round(frame / 48) for frame in FRAMES[1:]], 500]
    assert [str(chapter.sub_frames["TIT2"]) for chapter in chapters[:2]] == ["One", "Two"]


def test_chapters_of_comments_count_from_zero(marked):
    found = comments(FLAC(convert(marked, "a.flac", "marked.wav")).tags)
    assert {name: found[name] for name in found if name.startswith("CHAPTER")} == {
        "CHAPTER000": ["00:00:00.000"], "CHAPTER000NAME": ["One"], "CHAPTER001": ["00:00:00.162"],
        "CHAPTER001NAME": ["Two"], "CHAPTER002": ["00:00:00.417"],
    }


KINDS = [("a.flac", FLAC), ("a.mp3", ID3), ("a.m4a", MP4), ("a.wav", WAVE), ("a.opus", OggOpus)]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_tags_changes_what_it_is_told(tagged, name, kind):
    path = convert(tagged, name)
    before = kind(path)
    terminal = run(["tags", "--set", "artist=Ada", "--set", "artist=Bob", "--remove", "ISRC", name], tagged)
    assert terminal.status == 0, terminal.text()
    after = kind(path)

    def texts(file):
        tags = file if kind is ID3 else file.tags
        return {key: str(tags[key]) for key in tags.keys() if "APIC" not in key and "picture" not in key.lower()}

    old, new = texts(before), texts(after)
    isrc = [key for key in old if "ISRC" in key.upper() or key == "TSRC"]
    assert isrc and not any(key in new for key in isrc)
    artist = [key for key in new if key.lower() in ("artist", "tpe1", "\xa9art")]
    assert len(artist) == 1 and "Ada" in new[artist[0]] and "Bob" in new[artist[0]]
    for key in set(old) - set(isrc) - set(artist):
        assert new.get(key) == old[key], key
