"""Which formats fit a probed source: what the command finds in the file, the API finds in its description."""

import json
import random
import subprocess
import wave

import pytest

from terminal import SLUICE, environment
from test_operations import problem

PATH = "/api/v1/compatibility"


def command(folder, *words):
    done = subprocess.run([str(SLUICE), *words], cwd=folder, env=environment(), capture_output=True, text=True)
    assert done.stdout, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def sound(path, channels=2, rate=48_000, depth=2):
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, depth, rate, 0, "NONE", ""))
        # Depth that is always zero would not be missed.
        file.writeframes(random.Random(5).randbytes(channels * depth * 4_800))


@pytest.mark.parametrize("facts", [(1, 8_000, 1), (2, 44_100, 2), (2, 192_000, 3), (6, 48_000, 3), (12, 48_000, 2)])
def test_finds_what_the_command_finds(shared, tmp_path, facts):
    sound(tmp_path / "a.wav", *facts)
    [probed] = command(tmp_path, "probe", "--json", "a.wav")
    answer = shared.post(PATH, probed)
    assert answer.status_code == 200, answer.text
    found = {one["preset"]: one["fit"] for one in answer.json()["presets"]}
    wanted = command(tmp_path, "presets", "--for", "a.wav", "--json")
    assert list(found) == [one["preset"] for one in wanted]
    for one in wanted:
        fit = found[one["preset"]]
        assert (fit.get("format"), fit["reasons"], fit["hints"]) == (one.get("format"), one["reasons"], one["hints"])
        assert fit["fits"] == ("format" in one)
        for name in ["losses", "keptTags", "lostTags", "keepsCover"]:
            assert fit["fits"] is False or fit.get(name) == one.get(name), (name, fit, one)
    formats = {(one["container"], one["codec"]): one["fit"] for one in answer.json()["formats"]}
    assert formats["wav", "copy"]["fits"] and formats["wav", "pcm"]["losses"] == []


@pytest.mark.parametrize("words", [
    ["a.mp3"], ["a.m4a"], ["a.opus"], ["a.ogg"], ["a.flac"], ["a.wv"], ["a.au", "--codec", "ulaw"],
    ["a.wav", "--codec", "alaw"], ["a.wav", "--bits", "32", "--float"],
], ids=" ".join)
def test_finds_the_same_of_what_sluice_writes(shared, tmp_path, words):
    sound(tmp_path / "source.wav")
    command(tmp_path, "convert", "source.wav", *words, "--json")
    [probed] = command(tmp_path, "probe", "--json", words[0])
    found = {one["preset"]: one["fit"].get("format") for one in shared.post(PATH, probed).json()["presets"]}
    wanted = command(tmp_path, "presets", "--for", words[0], "--json")
    assert found == {one["preset"]: one.get("format") for one in wanted}


def test_tells_what_becomes_of_tags_covers_and_chapters(shared, tmp_path):
    """As the remarks of real conversions say it, into each container, with packets as they are and without."""
    sound(tmp_path / "a.wav")
    (tmp_path / "chapters").write_text(
        ";FFMETADATA1\ntitle=Song\nartist=One\nmood=calm\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=50\ntitle=a\n"
        "[CHAPTER]\nTIMEBASE=1/1000\nSTART=50\nEND=100\ntitle=b\n"
    )
    ffmpeg = ["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "color=red:s=32x32:d=0.04", "-frames:v", "1"]
    subprocess.run([*ffmpeg, "cover.png"], cwd=tmp_path, check=True)
    inputs = ["-i", "a.wav", "-i", "cover.png", "-f", "ffmetadata", "-i", "chapters", "-map", "0", "-map", "1"]
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", *inputs, "-map_metadata", "2", "-c:v", "copy", "-c:a", "aac",
                    "-disposition:v", "attached_pic", "a.m4a"], cwd=tmp_path, check=True)
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", *inputs, "-map_metadata", "2", "-c:v", "copy", "-c:a", "flac",
                    "-disposition:v", "attached_pic", "a.flac"], cwd=tmp_path, check=True)
    kinds = {"tags", "cover", "chapters", "channels_mixed", "layout_lost"}
    seen, tried = set(), 0
    for source in ["a.m4a", "a.flac"]:
        [probed] = command(tmp_path, "probe", "--json", source)
        assert probed["description"]["cover"] and len(probed["description"]["tags"]) >= 3
        for one in shared.post(PATH, probed).json()["formats"]:
            fit = one["fit"]
            # Each container once, and each copy.
            if not fit["fits"] or (one["container"] in seen and one["codec"] != "copy"):
                continue
            seen.add(one["container"])
            [done] = command(tmp_path, "convert", source, "out", "--container", one["container"], "--codec",
                             one["codec"], "--json", "--on-conflict", "replace")
            if one["codec"] == "copy" and "priming or padding" in json.dumps(done):
                # Which only the packets tell.
                continue
            done = done.get("conversion", done)
            had = {remark["kind"]: remark for remark in done.get("remarks", [])}
            told = set(fit["losses"])
            assert told == set(had) & kinds, (source, one, done)
            assert len(fit["lostTags"]) == had.get("tags", {}).get("count", 0), (one, done)
            assert all(name in had["tags"]["detail"] for name in fit["lostTags"]), (one, done)
            assert fit["keepsCover"] == ("cover" not in had), (one, done)
            names = {name.lower() for name in fit["keptTags"] + fit["lostTags"]}
            assert {"title", "artist"} <= names and ("mood" in names) == (source == "a.flac"), names
            tried += 1
    assert {"wav", "w64", "flac", "m4a", "mp3", "ogg", "mka", "webm", "raw", "au"} <= seen and tried > 16, seen


def test_a_copy_may_lose_the_names_of_speakers(shared, tmp_path):
    sound(tmp_path / "a.wav", channels=6)
    command(tmp_path, "convert", "a.wav", "b.wav", "--json", "--layout", "5.1")
    [probed] = command(tmp_path, "probe", "--json", "b.wav")
    tried = set()
    for one in shared.post(PATH, probed).json()["formats"]:
        if one["codec"] != "copy" or not one["fit"]["fits"]:
            continue
        [done] = command(tmp_path, "convert", "b.wav", "out", "--container", one["container"], "--codec", "copy",
                         "--json", "--on-conflict", "replace")
        had = {remark["kind"] for remark in done.get("conversion", done).get("remarks", [])}
        assert ("layout_lost" in one["fit"]["losses"]) == ("layout_lost" in had), (one, done)
        tried |= {(one["container"], "layout_lost" in had)}
    assert {told for _, told in tried} == {True, False}, tried


def test_tells_the_losses_that_a_conversion_has(shared, tmp_path):
    """The remarks of a real conversion, as far as they are about what the description tells."""
    seen = set()
    for channels, rate, depth in [(2, 48_000, 3), (6, 48_000, 2), (6, 96_000, 3)]:
        sound(tmp_path / "a.wav", channels, rate, depth)
        # With positions.
        command(tmp_path, "convert", "a.wav", "b.wav", "--json", "--on-conflict", "replace",
                *(["--layout", "5.1"] if channels == 6 else []))
        [probed] = command(tmp_path, "probe", "--json", "b.wav")
        for one in shared.post(PATH, probed).json()["presets"]:
            if not one["fit"]["fits"]:
                continue
            name = f"out.{one['fit']['format']['container']}"
            [done] = command(tmp_path, "convert", "b.wav", "--preset", one["preset"], "--json", "--on-conflict",
                             "replace", name)
            kinds = {remark["kind"] for remark in done.get("conversion", done).get("remarks", [])}
            told = set(one["fit"]["losses"])
            assert told == kinds & {"channels_mixed", "layout_lost", "depth_reduced"}, (one, done)
            seen |= told
    assert "channels_mixed" in seen, seen


def test_refuses_what_is_no_description(shared):
    track = {"track": 0, "isMain": True, "codec": "flac", "sampleRateHz": 48_000, "channelCount": 2, "layout": "stereo",
             "bitDepth": 16, "sampleKind": "integer", "isLossless": True, "isProtected": False}

    def ask(more=None, **body):
        return shared.post(PATH, {"description": {"tracks": [{**track, **(more or {})}]}, **body})

    assert ask().status_code == 200 and ask(track=0).status_code == 200
    assert ask({"frames": 2**62, "delayFrames": -5, "news": [1]}).status_code == 200
    for more in [{"sampleRateHz": 2**62}, {"sampleRateHz": -1}, {"channelCount": 2**40}, {"channelCount": 3},
                 {"layout": "discrete 99999999999"}, {"layout": "0xffffffffffffffff"}, {"layout": "sideways"},
                 {"bitDepth": 2**62}, {"bitDepth": 0}, {"sampleKind": "x"}, {"codec": 3}, {"codec": "x" * 1_000},
                 {"isLossless": 1}, {"isMain": False}]:
        told = problem(ask(more), 400, "bad_body")
        assert told["errors"][0]["pointer"].startswith("/description/tracks"), told
    for wrong in [{}, {"description": []}, {"description": {}}, {"description": {"tracks": {}}},
                  {"description": {"tracks": [1, [], None]}}, {"description": {"tracks": [track], "tags": 1}},
                  {"description": {"tracks": [track], "tags": [1]}},
                  {"description": {"tracks": [track], "chapters": {}}}]:
        problem(shared.post(PATH, wrong), 400, "bad_body")
    problem(ask(track=7), 400, "bad_body")
    many = [{"name": f"tag {number}", "value": "x" * 100} for number in range(190)] + [{"name": 3}, {"value": "x"}]
    body = {"tracks": [track], "tags": many, "chapters": [None] * 1_000, "cover": 7}
    assert shared.post(PATH, {"description": body}).status_code == 200
    problem(shared.post(PATH, {"description": {**body, "tags": many * 2}}), 400, "bad_body")
    for more in [{"sampleRateHz": 0}, {"channelCount": 0, "layout": None}, {"codec": "nonsense"}, {"isProtected": True},
                 {"codec": "flac", "bitDepth": 32}, {"channelCount": 1_024, "layout": None}, {"sampleRateHz": 1},
                 {"sampleRateHz": 100_000_000}, {"bitDepth": None, "sampleKind": None, "layout": None}]:
        answer = ask(more)
        assert answer.status_code == 200, (more, answer.text)
        if more.get("isProtected") or 0 in more.values():
            fitting = [one["preset"] for one in answer.json()["presets"] if one["fit"]["fits"]]
            # What is not decoded needs no rate.
            assert fitting == [] if more.get("isProtected") else set(fitting) <= {"passthrough"}, (more, fitting)
