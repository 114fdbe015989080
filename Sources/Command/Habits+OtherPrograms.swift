import Console

extension Habits {
    /// Those of ffmpeg, sox, and other command lines.
    static let ofOtherPrograms = Habits(
        option: { hint(forOption: $0, of: $1, with: $2) },
        command: { words(forCommand: $0) }
    )

    /// What to use instead of the option `word`. `nil` if no other program is known for it, or if `command` has no
    /// such option.
    private static func hint(
        forOption word: String,
        of command: Subcommand,
        with options: [OptionForm]
    ) -> String? {
        func option(_ name: String, _ purpose: String) -> String? {
            options.first { $0.name == name }.map { form in
                form.word + (form.placeholder.map { " \($0)" } ?? "") + " " + purpose
            }
        }
        let takesPaths = !command.arguments.isEmpty
        return switch word {
        case "-y", "-f", "--force", "--overwrite":
            option("on-conflict", "decides about outputs that exist: replace overwrites them")
                ?? option("yes", "answers the question")
        case "-i", "--input": takesPaths ? "sources are named without an option" : nil
        case "-o", "--output", "--out":
            // To `convert`, --to is the end of a range.
            options.contains { $0.name == "to" && $0.group == .destination }
                ? option("to", "names the outputs") : takesPaths ? "the output is the last argument" : nil
        case "-r", "-ar", "--sample-rate", "--samplerate": option("rate", "sets the sample rate")
        case "-ac": option("channels", "sets the number of channels")
        case "-ab", "-b:a", "--bitrate": option("bit-rate", "sets the bit rate")
        case "-acodec", "-c:a", "-codec", "-codec:a": option("codec", "sets the codec")
        case "-q:a", "-V0", "-V2": option("quality", "sets the quality of a variable bit rate")
        case "-ss": option("from", "is where the range begins")
        case "-t": option("until", "is where the range ends") ?? option("to", "is where the range ends")
        case "-V", "-version": "\"sluice --version\" prints the version"
        case "-v", "--verbose": option("debug", "shows the whole record of a failure")
        case "-z": option("zoom", "sets the frames of each pair of peaks")
        case "--waveform", "--spectrogram":
            command.name == SplitCommand.value.name ? "\"sluice waveform\" makes them of the pieces" : nil
        case "--warnings": option("remarks", "selects the jobs that were completed with warnings")
        case "-j", "--jobs", "--threads": option("slots", "sets how many run at once")
        default: nil
        }
    }

    /// The words to use instead of the command `word`; `nil` if no other program is known for it.
    private static func words(forCommand word: String) -> String? {
        switch word {
        case "version": "--version"
        case "batch": "batches"
        case "queue": "queues"
        case "error", "failures": "errors"
        case "ls", "list": "jobs"
        case "kill", "rm", "delete": "cancel"
        case "top": "watch"
        case "info", "inspect": "probe"
        case "encode", "transcode": "convert"
        case "start": "up"
        case "stop": "down"
        case "page", "ui", "dashboard": "open"
        default: nil
        }
    }
}
