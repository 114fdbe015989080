import Command
import PumpRoom

extension FuzzedText {
    /// Seed texts that this reader accepts.
    package var seeds: [String] {
        switch self {
        case .words: Self.lines.map { $0.split(separator: " ").joined(separator: "\0") }
        case .list: ["a.wav\nb/c.wav\n", "a.wav\0b c.wav\0", "in.wav\r\na b.wav\r\n\r\n", "/x/../y.wav\n./z\n"]
        case .path: ["*.wav\0a/b.wav", "/srv/in/a.wav", "../x/./y.wav", "2020/[a-z]*\0/srv/in/2020/x.flac", "~/a.wav"]
        case .location: ["archive:2024/a.wav", "in:a:b.wav", "in:./a//b.wav", "local:home/ada/e\u{301}.wav"]
        case .template:
            ["out:{dir}/{stem}.{ext}", "/srv/in/{{x}}/{stem}.mp3", "out:{preset}/{id}-{stem}", "~/o/{stem}"]
        case .rules: ["ro", "wo,create,ext=flac+mp3,mode=640", "rw", "ext=ogg,mode=600"]
        case .recipe:
            [
                Self.wholeRecipe, Self.wholeTimeline, Self.waveforms,
                #"{"version":1,"sources":[{"location":"a"}],"outputs":[{"location":"b.wav"}]}"#,
            ]
        case .time: ["90", "12.25", "90s", "1500ms", "5:00", "1:02:03.5", "44100/44100", "-1/3~", "indefinite"]
        case .address:
            [
                "postgresql://ada:secret@db1:5432,db2/audio?connect_timeout=3&sslpassword=x",
                "host=db password='a b' dbname=audio",
                "postgres://%2Fvar%2Frun/audio?user=ada&password=p",
            ]
        case .filter: ["batch=17 queue=nightly code=truncated pods:2024/", "source=a=b c", "queue=x=y z"]
        case .keys: ["jk\u{1B}[A\u{1B}[5~\u{1B}OHé", "\u{1B}[200~pasted\n\u{1B}[201~q", "\u{1B}[1;5C\u{3}\u{7F}\u{1B}"]
        case .json: [#"{"a":[1,-2.5e3,true,null,"\u001b\u202e"],"é":{}}"#, "[9223372036854775807,0.1]"]
        case .file:
            [
                "bytes=0-499", "bytes=-5", "bytes=9-", "a/b c/é.wav",
                "sha-512=:AAAA:, sha-256=:RK/0qy18MlBSVnWgjwz6lZEWjP/lF5HF9bvEF8FabDg=:",
            ]
        case .reply: RoomFigures.replies
        case .request:
            RoomFigures.requests(Self.wholeRecipe)
                + RoomFigures.requests(Self.wholeTimeline).filter { $0.contains("timeline") }
        }
    }

    /// Tokens with a meaning to this reader, in addition to the common ones.
    package var tokens: [String] {
        switch self {
        case .words: TextReading.vocabulary + Self.values
        case .template: ["{dir}", "{stem}", "{ext}", "{preset}", "{id}", "{{", "}}", "{", "}", "out:", "~/"]
        case .rules: ["ro", "wo", "rw", "create", "ext=", "mode=", ",", "+", "7777", "600", "İ", "ß"]
        case .recipe, .request: Self.fields + Self.figures
        case .reply:
            Self.fields + Self.figures + ["\"spent\"", "\"permanent\"", "\"indefinite\"", "\"1/0\"", "\"cancelled\""]
        case .file: ["bytes=", "-", "sha-256=:", ":", "=", "..", "/", "%2e", ".sluice-"]
        case .time: ["ms", "s", ":", "/", "~", ".", "-", "indefinite", "invalid", "+∞", "59", "60"]
        case .address:
            ["postgresql://", "postgres://", "password=", "'", "\"", "\\'", "?", "&", "@", "%40", "%zz", "["]
        case .json: Self.figures + ["{", "}", "[", "]", "\"", "\\u0000", "\\ud800", "\\\"", ",", ":"]
        case .filter: ["batch=", "queue=", "code=", "source=", "17"]
        case .keys: ["\u{1B}", "[", "O", "~", "\u{1B}[200~", "\u{1B}[201~", "\u{1B}[1;5C", "\u{7F}", "🎧"]
        case .list, .path, .location: ["*", "?", "[!a-", "]", "~", "in:", "archive:", "\r", "\r\n", "\n"]
        }
    }

    /// Limits of number types, and characters that are easily mistaken for others.
    package static let commonTokens = [
        "0", "-1", "1", "32768", "2147483648", "4294967296", "9007199254740993", "9223372036854775807",
        "9223372036854775808", "-9223372036854775808", "18446744073709551616", "1e308", "1e999", "0.1", "-0", "00", " ",
        "/", "//", "/\u{301}", "..", ".", "./", "../", ":", "\u{301}", "é", "e\u{301}", "\u{202E}", "\u{200D}",
        "\u{FEFF}",
        "\u{2028}", "\u{85}", "\u{1B}[31m", "\0", "\r\n", "\n", "=", ",", "%", "\\", "\"", "'", "🎧",
        "\u{1F468}\u{200D}\u{1F469}",
        "ſ", "K", "ﬁ", "٣", "x.wav",
    ]

    private static let lines = [
        "convert in.wav out.flac --rate 44.1k --bits 16", "convert - - --container wav --raw-input s16le:48000:2",
        "convert a.wav b.mp3 -b 128k --from 1:30 --to 1:02:03.5 --tag title=x --on-damage conceal --conceal-limit 60",
        "convert a.wav b.ogg -c vorbis --layout 5.1 --quality -1",
        "convert a.wav b.aiff --endian big --bits 24 --dither none",
        "submit -r in --to out:{dir}/{stem}.{ext} --preset podcast-mp3 --root in=/srv/in --priority -5 --run-at 2h",
        "submit --files-from - -0 --to out/{stem}.mp3 --until 90 --max-attempts 3 --key k --label l --json",
        "worker --root in=/srv:ro --root out=/o:create,ext=flac,mode=640 --slots 2 --room-memory 512MiB --job-time 5min",
        "jobs --state failed,waiting --code truncated --ended-since 2026-11-20T09:30:00Z --since 3d --limit 5",
        "retry 17 18 --on-damage skip --yes", "job 42 --json", "watch --queue nightly",
        "check --batch 7 --repair --yes",
        "probe a.wav --scan --json", "probe --loudness a.wav",
        "probe --points --points-silence -50dB/1s --point-after 1:30 a.wav",
        "presets --for a.wav", "help convert", "completion bash",
        "config show --origin",
        "wait 3 --timeout 90s", "export --batch 3 --format jsonl --brief", "prioritize 3 100", "--version",
        "--color never status",
        "migrate --database postgresql:///x --schema sluice", "queues pause nightly", "workers drain 3",
    ]

    private static let values = [
        "44.1k", "128k", "1:30", "90s", "1500ms", "44100/44100", "512MiB", "2GB", "16", "s16le:48000:2", "ulaw:8000:1",
        "5.1",
        "stereo", "0x3f", "opus", "flac", "podcast-mp3", "title=It", "2h", "2026-11-20", "2026-11-20T09:30:00+01:00",
        "failed,waiting", "in=/srv/in:ro", "out:{dir}/{stem}.{ext}", "conceal", "always", "json", "17",
    ]

    private static let figures = [
        "1e400", "-1e308", "1.5", "281474976710657", "1152921504606846977", "null", "true", "false", "[]", "{}", "\"\"",
        "\"\\ud800\"", "\"\\u0000\"",
    ]

    private static let fields = [
        "\"version\":", "\"sources\":", "\"outputs\":", "\"location\":", "\"ranges\":", "\"from\":", "\"to\":",
        "\"format\":", "\"timeline\":", "\"tracks\":", "\"pieces\":", "\"waveform\":", "\"source\":", "\"track\":",
        "\"silence\":",
        "\"ramps\":", "\"fromGain\":", "\"toGain\":", "\"curve\":", "\"repeat\":", "\"repeatUntil\":", "\"reverse\":",
        "\"crossfade\":", "\"fadeIn\":", "\"trimSilence\":", "\"channels\":", "\"padTo\":", "\"limit\":",
        "\"loudness\":",
        "\"replayGain\":", "\"-3dB\"", "\"-inf\"", "\"-60dB/0.5s\"", "\"equalPower\"",
        "\"container\":", "\"codec\":", "\"limits\":", "\"job\":", "\"_1\":", "\"frames\":", "\"position\":", "},{",
        "],[", ",",
    ]

    /// Every field of version 2.
    private static let wholeTimeline = #"""
        {"version":2,"sources":[{"location":"in:a.wav","name":"voice"},{"location":"in:b.wav","name":"music"}],\#
        "outputs":[{"location":"out:a.flac","replayGain":"track","loudness":{"target":"-16LUFS","truePeak":"-1dBTP"},\#
        "format":{"dither":"shaped","resample":"best"}}],"timeline":{"sampleRateHz":48000,"layout":"stereo","padTo":"1:30",\#
        "limit":"-1dB","tracks":[{"name":"speech","start":"0:05","gain":"+1.5dB","pan":-0.1,"ramps":[{"from":"0:03","to":"0:05",\#
        "fromGain":"0dB","toGain":"-15dB","curve":"decibel"}],"pieces":[{"source":"voice","from":"441/44100","to":"0:30",\#
        "channels":"left","trimSilence":"-60dB/0.5s/end","fadeIn":"1/480"},{"silence":"5s"},{"track":"bed","crossfade":\#
        {"length":"1s","curve":"equalPower"},"repeatUntil":"1:00"}]},{"name":"bed","pieces":[{"source":"music","to":"0:20",\#
        "channels":[2,1],"reverse":true,"repeat":3,"gain":"-inf","fadeOut":{"length":"2s","curve":"linear"}}]}]}}
        """#

    private static let waveforms = #"""
        {"version":4,"sources":[{"location":"a.wav"}],"outputs":[{"location":"b.wav"},{"location":"b.dat",\#
        "waveform":{"samplesPerPixel":512,"bits":16,"splitsChannels":true}},{"location":"b.png",\#
        "waveform":{"width":640,"height":120,"theme":"dark","spectrogram":"mel"}}]}
        """#

    private static let wholeRecipe = #"""
        {"version":1,"damage":"conceal","verify":true,"strictLoss":true,"tags":{"title":"It"},"sources":[{"location":"in:a.raw",\#
        "track":1,"ranges":[{"from":"0:10","to":"1:00"},{"from":"441/44100"}],"raw":{"sampleRateHz":48000,"channelCount":2,\#
        "bitDepth":24,"endianness":"big"}}],"outputs":[{"location":"out:a.mp3","preset":"mp3-v0","onConflict":"replace",\#
        "format":{"container":"mp3","codec":"mp3","sampleRateHz":44100,"channelCount":2,"bitDepth":16,"bitRate":128000,\#
        "quality":0.5}}],"limits":{"outputBytes":1000000,"decodedSeconds":3600,"expansionRatio":1.5,"cpuSeconds":60,\#
        "wallSeconds":60,"stallSeconds":5,"concealSeconds":600,"openSeconds":10}}
        """#
}
