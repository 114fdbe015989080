// Failures of files and roots, and of the processes that convert.

extension FailureSection {
    public static let places = FailureSection(
        "Files and roots",
        introduction: """
            Sources that cannot be opened, and outputs that cannot get their name. `io_source`, `io_destination` and \
            `disk_full` occur here as well.
            """,
        [
            .sourceNotFound: .init(
                .permanent,
                [.open],
                "The source does not exist.",
                cause: "a mistyped path, a file that was moved meanwhile",
                advice: "check the path: the file may have been moved or renamed",
                exitCode: 4
            ),
            .sourceChanged: .init(
                .transient,
                [.decode],
                """
                A source had another size or modification time at the end than at the beginning, so nothing was published or \
                recorded.
                """,
                cause: "a program that still writes the file",
                advice: "wait until the file is complete, and retry the job"
            ),
            .sourceNotServed: .init(
                .permanent,
                [.open, .decode],
                """
                A web server sends the source in a way that cannot be read. It is longer than 64 MiB and sent without ranges, \
                or encoded, or without its length, or the server redirects to an address that is not followed. The message \
                says which.
                """,
                cause: "servers without ranges, servers that compress files, redirects from https:// to http://",
                advice: "have the server send ranges of the plain file, or copy the file to a folder or a bucket"
            ),
            .folderNotFound: .init(
                .permanent,
                [.open, .publish],
                "The folder of the destination does not exist, or is not a folder.",
                cause: "a mistyped path, a folder that was removed meanwhile",
                advice: "create the folder first",
                exitCode: 4
            ),
            .notAFile: .init(
                .permanent,
                [.open, .publish],
                "The path names a folder, a device, a pipe, a socket, or a link where links are not followed.",
                cause: "a folder given as the destination",
                advice: "name a file"
            ),
            .destinationExists: .init(
                .permanent,
                [.open, .publish],
                "The destination exists, and the recipe says to fail in that case.",
                cause: "the same work done twice",
                advice: "--on-conflict replace overwrites what is there; --on-conflict skip leaves it alone"
            ),
            .destinationIsSource: .init(
                .permanent,
                [.open],
                "The output would replace its own source.",
                cause: "links",
                advice: "write to another name; Sluice never changes a source"
            ),
            .permissionDenied: .init(
                .permanent,
                [.open, .publish],
                "The system denies access.",
                cause: "another owner, another mode",
                advice:
                    "the user that runs the conversion must be able to read the sources and to write to the outputs' folders",
                exitCode: 6
            ),
            .folderDenied: .init(
                .transient,
                [.open, .publish],
                "The worker's user may not write to the folder of the output. It may write to the root's own folder.",
                cause: "a folder of another user, another mode",
                advice: "let the worker's user write to that folder",
                exitCode: 6
            ),
            .readOnly: .init(
                .permanent,
                [.open, .publish],
                "The file system is mounted read-only.",
                cause: "archives, disks after an error",
                advice: "write to another file system, or mount this one for writing",
                exitCode: 6
            ),
            .invalidPath: .init(
                .permanent,
                [.open],
                "No file can have that path: it is empty, too long, contains a NUL, or its links form a circle.",
                cause: "names of more than 255 bytes",
                advice: "choose a shorter name, or a path without circular links"
            ),
            .invalidLocation: .init(
                .permanent,
                [.open],
                "It is not the name of a root, a colon and a path of up to 4,095 bytes below the root.",
                cause: "absolute paths, `..`",
                advice: "write a location as ROOT:PATH, like archive:2024/a.wav"
            ),
            .invalidTemplate: .init(
                .permanent,
                [.open],
                "The template for destinations has an unknown field or an unpaired brace, or a field has no value.",
                cause: "`{titel}`",
                advice: "correct the template; \"sluice submit --help\" lists its fields"
            ),
            .outsideRoot: .init(
                .permanent,
                [.open, .publish],
                "The path leads out of its root.",
                cause: "links to other places",
                advice: "put the file below the root, or name a root that holds it"
            ),
            .rootForbids: .init(
                .permanent,
                [.open],
                "The rules of the worker's root do not allow it; the message names the rule.",
                cause: "a destination in an input root, an extension that is not allowed",
                advice: "write elsewhere, or change the rules of the worker's --root"
            ),
            .unknownRoot: .init(
                .infrastructure,
                [.open],
                "This worker has no root of that name.",
                cause: "a worker that was started without it",
                advice: "start a worker with --root NAME=PATH for it"
            ),
            .tooManyFiles: .init(
                .transient,
                [.open, .publish],
                "The process or the system has too many open files.",
                cause: "low limits",
                advice: "raise the limit of open files (ulimit -n)"
            ),
            .unsupportedDestination: .init(
                .permanent,
                [.publish],
                "The file system cannot give a file its name without the risk of replacing another.",
                cause: "FAT, some FUSE and network mounts",
                advice: "write to a local disk and copy from there, or allow --on-conflict replace"
            ),
            .storageUnavailable: .init(
                .infrastructure,
                [.open, .publish],
                "The file system became unavailable.",
                cause: "lost mounts, file servers that do not answer",
                advice: "check that the file system is still mounted and that its server answers"
            ),
            .attemptLost: .init(
                .transient,
                [.publish],
                "The file of the attempt is gone, and the destination does not hold its content.",
                cause: "a person or a script removed it"
            ),
            .attemptConflict: .init(
                .transient,
                [.publish],
                "A file with the name of the attempt does not hold what the ledger recorded.",
                cause: "another process wrote into it",
                advice: "look for other processes that write into the output folders"
            ),
        ]
    )

    public static let rooms = FailureSection(
        "Pump rooms",
        introduction: """
            Pump rooms are the sandboxed processes that convert. Except for `room_start` and `sandbox_unavailable`, \
            the failure is recorded for the job that the room was converting; jobs that waited in the same room go \
            to its successor.
            """,
        [
            .roomCrash: .init(
                .transient,
                [.open, .decode],
                """
                The room ended during the job. The message names the signal or exit status; the attempt shows its \
                last words.
                """,
                cause: "a hostile or broken file, too little memory, a bug in Sluice",
                advice: "the file may be hostile or trigger a bug: try it alone with \"sluice convert\""
            ),
            .roomStalled: .init(
                .transient,
                [.open, .decode],
                "No frame was read for `stallSeconds` (60), and the worker killed the room.",
                cause: "mounts that hang, a decoder in an endless loop",
                advice: "check the worker's mounts and its processor"
            ),
            .roomProtocol: .init(
                .transient,
                [.open, .decode, .finish],
                """
                The room sent an impossible message, or its output is not what it reported (length, holes, a writer \
                that is still open), and the worker killed it.
                """,
                cause: "a file that took the room over, a bug in Sluice",
                advice: "report it, with the file if you can"
            ),
            .roomStart: .init(
                .infrastructure,
                [.open],
                "The worker could not start a room, three times in a row.",
                cause: "no memory, no free processes, sluice-room is missing or of another version",
                advice: "sluice doctor shows whether rooms start; check the worker's log for the room's last words"
            ),
            .sandboxUnavailable: .init(
                .infrastructure,
                [.open],
                "A room could not lock itself as far as `--sandbox` requires, three times in a row.",
                cause: "a kernel without Landlock or seccomp, a container that forbids them",
                advice: "--sandbox best-effort accepts what the kernel offers; see docs/security.md"
            ),
        ]
    )
}
