import Conversion

/// What to do about a failure, by its code. docs/errors.md explains each in more detail.
enum FailureHint {
    /// The hint that came with the failure, or else the hint for its code.
    static func text(for failure: Failure) -> String? { failure.hint ?? text(forCode: failure.code) }

    /// Whether another damage policy could have avoided the failure.
    static func isDamage(_ code: String) -> Bool { ["truncated", "corrupt_stream", "timeline_gap"].contains(code) }

    static func text(forCode code: String) -> String? {
        switch code {
        case "truncated": "the upload may have been cut off; --on-damage conceal would keep the length"
        case "corrupt_stream", "timeline_gap":
            "--on-damage conceal keeps the length and fills the damage with silence; skip leaves it out"
        case "implausible_length":
            "--conceal-limit raises the limit where the sound was that long; --on-damage skip adds no silence"
        case "empty_input": "the file is empty; fetch it again"
        case "unknown_container", "tags_only": "look at what the file is: sluice probe FILE"
        case "unreadable_container": "fetch the file again, or wait until it is whole"
        case "container_not_allowed", "no_audio_track", "no_decodable_frame": "choose another file"
        case "protected_content": "use a copy without protection"
        case "no_such_track": "\"sluice probe FILE\" lists the tracks"
        case "format_refused": "\"sluice presets --for FILE\" shows what fits"
        case "passthrough_refused": "choose a codec"
        case "output_too_large": "choose w64, caf or flac"
        case "source_not_found", "folder_not_found": "look at the place by hand: the file may have been moved"
        case "destination_exists": "submit it with --on-conflict replace or skip, or move what is there"
        case "permission_denied", "read_only": "let the worker's user read the sources and write the destinations"
        case "disk_full": "free some space; what failed goes on by itself while it has attempts"
        case "file_system_full": "make room on that file system; the job goes on by itself"
        case "file_system_missing": "mount that file system again; the job goes on by itself"
        case "io_source", "io_destination", "storage_unavailable":
            "look at the disk or the network share; \"sluice workers\" shows who paused because of it"
        case "root_forbids": "write elsewhere, or change the rules of the worker's --root"
        case "unknown_root", "unable": "start a worker that has the root or the codec that is missing"
        case "room_crash": "the file may be hostile or hit a bug: try it alone with \"sluice convert\""
        case "too_slow": "use a faster or less busy worker, or start it with --job-time, which replaces this limit"
        case "stalled", "deadline_exceeded": "it took too long; look at the worker's disk and processor"
        case "workers_lost": "it may crash its workers: look at their logs, then try it alone with \"sluice convert\""
        case "worker_lost": "look at that worker's machine: \"sluice workers\" shows when it was last heard of"
        default: nil
        }
    }
}
