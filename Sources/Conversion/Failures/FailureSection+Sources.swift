// Failures that the source or the request causes: another attempt gives the same result.

extension FailureSection {
    public static let sources = FailureSection(
        "Sources without usable sound",
        [
            .emptyInput: .init(
                .permanent,
                [.open],
                "The source has no bytes.",
                cause: "an upload that never started",
                advice: "the file is empty; fetch it again"
            ),
            .tagsOnly: .init(
                .permanent,
                [.open],
                "The source holds ID3, APE or Lyrics3 tags and nothing else.",
                cause: "an upload that stopped behind the cover",
                advice: "the file ends before its sound; fetch it again"
            ),
            .unknownContainer: .init(
                .permanent,
                [.open],
                "No format was recognised, or only by the name of the file.",
                cause: "text, or raw PCM, under another name",
                advice: "for headerless PCM give --raw-input, as in s16le:48000:2; otherwise check what the file is"
            ),
            .containerNotAllowed: .init(
                .permanent,
                [.open],
                "Sluice knows the format and does not read it; the message names it.",
                cause: "playlists, scripts and pictures with the name of an audio file",
                advice: "only audio and video files are read; convert the files that a playlist names"
            ),
            .unreadableContainer: .init(
                .permanent,
                [.open, .probe],
                """
                The format was recognised and its structure is broken, or its header claims no rate, no channels, or \
                more than any format holds.
                """,
                cause: "an MP4 that was cut off before its index or is still being written; overwritten headers",
                advice: "fetch the file again, or wait until it has been written completely"
            ),
            .noAudioTrack: .init(
                .permanent,
                [.probe],
                "The container holds no audio stream.",
                cause: "a film without sound",
                advice: "the file has no sound; choose another file"
            ),
            .protectedContent: .init(
                .permanent,
                [.open, .probe],
                "The sound is encrypted.",
                cause: "purchases with copy protection (`drms`, `aavd`)",
                advice: "convert a copy without copy protection"
            ),
            .unsupportedCodec: .init(
                .permanent,
                [.open, .probe],
                "The codec is not among those that Sluice decodes.",
                cause: "rare or proprietary codecs",
                advice: "decode it with the codec's own tools first"
            ),
            .unsupportedBitDepth: .init(
                .permanent,
                [.probe],
                "FLAC of more than 24 bits, which libav 5.1 does not decode.",
                cause: "32-bit FLAC",
                advice: "decode it with `flac` first"
            ),
            .unsupportedEditList: .init(
                .permanent,
                [.probe],
                """
                The edit list of an MP4 or QuickTime file plays sound faster, slower or not at all, or the blocks of a VOC \
                file cannot be played as one track; the message says how.
                """,
                cause: "slow motion and freeze frames of video editors, VOC with several sample rates",
                advice: "export the file from the program that edited it"
            ),
            .tooManyStreams: .init(
                .permanent,
                [.open],
                "The container has more than 256 streams.",
                cause: "hostile or broken files",
                advice: "extract the stream that you want first"
            ),
            .noDecodableFrame: .init(
                .permanent,
                [.open, .probe, .decode],
                "Not one frame of sound could be decoded.",
                cause: "files cut to a few bytes, damage everywhere",
                advice: "nothing in the file can be decoded; fetch it again"
            ),
        ]
    )

    public static let damage = FailureSection(
        "Damage",
        [
            .corruptStream: .init(
                .permanent,
                [.open, .decode],
                "Data in the source cannot be decoded, or contradicts its checksums, counts or digest.",
                cause: "bad disks and transfers, foreign bytes between frames",
                advice: repair
            ),
            .truncated: .init(
                .permanent,
                [.decode],
                "The source ends before the length in its header, or in the middle of its data.",
                cause: "downloads that broke off, full disks",
                advice: "fetch the file again; --on-damage conceal keeps the length and fills the rest with silence"
            ),
            .timelineGap: .init(
                .permanent,
                [.decode],
                "All data can be decoded, and by the timestamps of the container some is missing.",
                cause: "lost blocks, recordings with drop-outs, wrong timestamps",
                advice: repair + "; trust-packets takes all packets as they follow one another"
            ),
            .uncountedSound: .init(
                .permanent,
                [.decode],
                """
                The header counts less sound than the source may hold: behind it lies more than a second of packets, \
                or of bytes that are neither chunks nor tags.
                """,
                cause: "recorders that died after their last update of the header, files joined byte by byte",
                advice: "--on-damage trust-packets takes all of it; --on-damage skip takes what the header counts"
            ),
            .implausibleLength: .init(
                .permanent,
                [.decode],
                """
                More silence would replace missing sound than is plausible: more than ten minutes, and more than \
                four times the sound that was decoded.
                """,
                cause: "a wrong length in the header, under `--on-damage conceal`",
                advice: "--conceal-limit SECONDS raises the limit if the sound was that long; else --on-damage skip"
            ),
            .concealRefused: .init(
                .permanent,
                [.decode],
                """
                Silence would fill more than 5 % of the result, under `--on-damage conceal`, although all packets decode: \
                only the container says that something is missing.
                """,
                cause: "wrong timestamps and lengths in the container",
                advice:
                    "--on-damage trust-packets takes the sound as it is; --conceal-limit SECONDS permits the silence"
            ),
        ]
    )

    private static let repair =
        "--on-damage conceal keeps the length and fills the damage with silence; --on-damage skip leaves it out"

    public static let requests = FailureSection(
        "Requests that cannot be met",
        [
            .recipeRefused: .init(
                .permanent,
                [.open],
                "The recipe is not valid; the message says where.",
                cause: "recipes written by hand",
                advice: "correct the recipe as the message says"
            ),
            .noSuchTrack: .init(
                .permanent,
                [.probe],
                "The source has no audio track of that number; the hint lists its tracks.",
                cause: "the number belongs to another file",
                advice: "\"sluice probe FILE\" lists the tracks",
                exitCode: 4
            ),
            .rangeOutsideSource: .init(
                .permanent,
                [.open, .decode],
                "A range begins or ends behind the end of the sound.",
                cause: "times that belong to another version of the file",
                advice: "correct the range; \"sluice probe FILE\" shows the length"
            ),
            .sourceNotSeekable: .init(
                .permanent,
                [.open, .decode],
                """
                A range lies before the one that was just read, or is repeated or reversed, and the source is a pipe or \
                can only be read from its start. Or it is an MP4 or CAF in a pipe whose index lies behind its sound. \
                The message says why.
                """,
                cause: "MP4 in a pipe, descending ranges, codecs whose packets depend on all packets before them",
                advice: "read from a file, or give the ranges in ascending order"
            ),
            .formatRefused: .init(
                .permanent,
                [.open],
                """
                The output format is not possible, or does not fit the source; the message names field, value and \
                what is allowed.
                """,
                cause: "Opus at 44.1 kHz, MP3 with six channels",
                advice: "\"sluice presets --for FILE\" shows what fits"
            ),
            .passthroughRefused: .init(
                .permanent,
                [.open, .decode, .encode, .write],
                "The packets cannot be copied unchanged.",
                cause: "ranges; containers that do not hold the codec; files that cannot be joined",
                advice: "choose a codec to convert instead of copying packets"
            ),
            .lossRefused: .init(
                .permanent,
                [.open, .finish],
                "`--strict-loss` was given, and the output would lack what the message names.",
                cause: "downmixing, fewer bits, clipping; tags, covers and chapters that the container cannot hold",
                advice: "choose another format, or convert without --strict-loss, which reports the loss"
            ),
            .outputTooLarge: .init(
                .permanent,
                [.open, .write],
                "The output does not fit into its container.",
                cause: "AIFF beyond 4 GB",
                advice: "choose w64, caf or flac"
            ),
        ]
    )
}
