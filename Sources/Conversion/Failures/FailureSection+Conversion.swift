// Failures while sound is decoded, encoded and written, and the limits that a conversion runs under.

extension FailureSection {
    public static let conversion = FailureSection(
        "Converting and writing",
        [
            .resampleFailed: .init(
                .permanent,
                [.resample],
                "The samples cannot be converted to the rate or channel layout of the output.",
                cause: "more than 64 channels to mix",
                advice: "choose the channel layout of the source"
            ),
            .encodeFailed: .init(
                .permanent,
                [.encode, .finish],
                "The encoder rejects the samples.",
                cause: "samples that are not numbers (NaN)",
                advice: "repair the samples of the source"
            ),
            .emptyOutput: .init(
                .permanent,
                [.decode, .finish],
                "There is no frame to write, and the codec cannot represent that; or silence is left out, and all is silent.",
                cause:
                    "an empty range; a few frames at a high rate, which resample to none; a silent file and --trim-silence",
                advice: "choose PCM, which may be empty, a longer range, or a lower threshold of silence"
            ),
            .sourceIO: .init(
                .transient,
                [.open, .probe, .decode],
                "The system failed to read the source.",
                cause: "network mounts, failing disks, closed descriptors",
                advice: """
                    check the disk or network share of the source; "sluice workers" shows which workers paused for \
                    it
                    """
            ),
            .destinationIO: .init(
                .transient,
                [.open, .write, .finish, .publish],
                "The system failed to write the output.",
                cause: "network mounts, failing disks, descriptors without write access",
                advice: """
                    check the disk or network share of the output; "sluice workers" shows which workers paused for \
                    it
                    """
            ),
            .diskFull: .init(
                .transient,
                [.write, .finish, .publish],
                "The disk of the output is full, or a quota or file size limit was reached.",
                cause: "full disks",
                advice: "free space at the destination; jobs that have attempts left are retried automatically"
            ),
            .destinationNotSeekable: .init(
                .permanent,
                [.open],
                "The output is not a regular file.",
                cause: "pipes, sockets, devices",
                advice: """
                    headers are completed at the end: write to a file and copy it, or choose --container wav or raw
                    """
            ),
            .metadataTooLarge: .init(
                .permanent,
                [.open],
                """
                The tags or a cover exceed 16 MiB, the metadata before the sound exceeds 64 MiB, or more than 10,000 \
                tags stand in so many places that they cannot be left out.
                """,
                cause: "hostile files, scans of whole booklets",
                advice: "remove the cover or the tags"
            ),
            .outOfMemory: .init(
                .transient,
                [.open, .probe, .decode, .resample, .encode, .write, .finish],
                """
                Memory ran out. A header that asks for more memory than an honest file needs is \
                `unreadable_container` or `corrupt_stream`.
                """,
                cause: "small machines",
                advice: "give the worker more memory or fewer slots"
            ),
            .frameCountMismatch: .init(
                .permanent,
                [.finish],
                "The number of frames in the output is not the number that was planned.",
                cause: "another process wrote into the output, or a bug in Sluice",
                advice: "report it, unless another process wrote into the output"
            ),
            .verifyMismatch: .init(
                .transient,
                [.finish],
                "Decoding the output gave other samples than were encoded.",
                cause: "bad memory or disks, or a bug in Sluice",
                advice: "test the machine's memory and disk; report it if it happens on another machine as well"
            ),
            .specBroken: .init(
                .permanent,
                [.finish],
                "The output breaks a limit of the spec that the recipe asks for; the message has every such limit.",
                cause: "a recording that is too soft, too loud or too noisy for it; a format that it does not take",
                advice: "docs/specs.md says how each limit is measured and kept; without a spec, the output is written"
            ),
            .writerFailed: .init(
                .permanent,
                [.open, .resample, .encode, .write, .finish],
                "The writer failed before; the message repeats why.",
                cause: "a caller that continues after an error",
                advice: "look at the first error"
            ),
            .alreadyFinished: .init(
                .permanent,
                [.open, .encode, .write, .finish],
                "The reader or writer has already finished.",
                cause: "a second call of `finish()`",
                advice: "create a new reader or writer"
            ),
            .cancelled: .init(
                .infrastructure,
                [.open, .probe, .decode, .resample, .encode, .write, .finish, .publish, .ledger, .release],
                "The work was cancelled.",
                cause: "`sluice cancel`, Ctrl-C, a shutdown"
            ),
        ]
    )

    public static let limits = FailureSection(
        "Limits",
        introduction: """
            A recipe sets these limits; options of the worker may be stricter. They bound what a hostile file can \
            cost.
            """,
        [
            .outputBytesExceeded: .init(
                .permanent,
                [.write, .finish],
                "The output grew beyond `outputBytes` or the limit of the worker.",
                cause: "files made to expand; a limit that is too low",
                advice: "raise outputBytes in the recipe, or the worker's --output-limit"
            ),
            .decodedSecondsExceeded: .init(
                .permanent,
                [.decode, .finish],
                "More sound was decoded than `decodedSeconds` allows, or all outputs together hold more.",
                cause: "headers that claim too much, files made to expand",
                advice: "raise decodedSeconds in the recipe"
            ),
            .expansionExceeded: .init(
                .permanent,
                [.decode],
                """
                Beyond 256 MiB, each byte of the source became more bytes of samples than `expansionRatio` allows: \
                decoded, or in all outputs together.
                """,
                cause: "files made to expand; hours of digital silence; sample rates of a few hertz",
                advice: "raise expansionRatio in the recipe"
            ),
            .cpuExceeded: .init(
                .permanent,
                [.decode, .finish],
                "The conversion, including verification, took more CPU time than `cpuSeconds` allows.",
                cause: "files made to be slow; a limit that is too low",
                advice: "raise cpuSeconds in the recipe, or the worker's --job-cpu"
            ),
            .openSecondsExceeded: .init(
                .permanent,
                [.open],
                "Opening the source took more CPU time than `openSeconds` (10) allows.",
                cause: "hostile headers, huge lists of tags",
                advice: "remove the tags from the file, or raise openSeconds in the recipe"
            ),
            .deadlineExceeded: .init(
                .permanent,
                [.open, .decode],
                "The job took longer than `wallSeconds` or the worker's `--job-time` allows.",
                cause: "a limit that is too low, a machine that is too slow, a file that took the room over",
                advice: "raise wallSeconds in the recipe, or the worker's --job-time"
            ),
            .tooSlow: .init(
                .transient,
                [.open, .decode],
                """
                The job took ten minutes more than four seconds for each second of sound that it had decoded. A \
                worker with `--job-time` does not check this.
                """,
                cause: "a machine that is too slow or too busy, a file that took the room over",
                advice: "use a faster or less busy worker, or start it with --job-time, which replaces this limit"
            ),
        ]
    )
}
