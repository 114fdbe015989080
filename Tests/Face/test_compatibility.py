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
            # Of passthrough, nothing is told.
            if not one["fit"]["fits"] or one["preset"] == "passthrough":
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
                  {"description": {"tracks": [1, [], None]}}]:
        problem(shared.post(PATH, wrong), 400, "bad_body")
    problem(ask(track=7), 400, "bad_body")
    for more in [{"sampleRateHz": 0}, {"channelCount": 0, "layout": None}, {"codec": "nonsense"}, {"isProtected": True},
                 {"codec": "flac", "bitDepth": 32}, {"channelCount": 1_024, "layout": None}, {"sampleRateHz": 1},
                 {"sampleRateHz": 100_000_000}, {"bitDepth": None, "sampleKind": None, "layout": None}]:
        answer = ask(more)
        assert answer.status_code == 200, (more, answer.text)
        if more.get("isProtected") or 0 in more.values():
            fitting = [one["preset"] for one in answer.json()["presets"] if one["fit"]["fits"]]
            # What is not decoded needs no rate.
            assert fitting == [] if more.get("isProtected") else set(fitting) <= {"passthrough"}, (more, fitting)
