/// Every way in which work can fail: the catalogue of failures.
///
/// A code stands here once. Its entry holds its class, its stages and all words about it: commands, logs and
/// docs/errors.md take them from here. A raw value is stable: it is never reused for another meaning.
public enum FailureCode: String, Sendable, Hashable, Codable, CaseIterable {
    // Sources without usable sound.
    case emptyInput = "empty_input"
    case tagsOnly = "tags_only"
    case unknownContainer = "unknown_container"
    case containerNotAllowed = "container_not_allowed"
    case unreadableContainer = "unreadable_container"
    case noAudioTrack = "no_audio_track"
    case protectedContent = "protected_content"
    case unsupportedCodec = "unsupported_codec"
    case unsupportedBitDepth = "unsupported_bit_depth"
    case unsupportedEditList = "unsupported_edit_list"
    case tooManyStreams = "too_many_streams"
    case noDecodableFrame = "no_decodable_frame"

    // Damage.
    case corruptStream = "corrupt_stream"
    case truncated
    case implausibleLength = "implausible_length"
    case timelineGap = "timeline_gap"
    case uncountedSound = "uncounted_sound"
    case concealRefused = "conceal_refused"

    // Scans.
    case damageFound = "damage_found"
    case bitRot = "bit_rot"

    // Requests that cannot be met.
    case recipeRefused = "recipe_refused"
    case noSuchTrack = "no_such_track"
    case rangeOutsideSource = "range_outside_source"
    case sourceNotSeekable = "source_not_seekable"
    case formatRefused = "format_refused"
    case passthroughRefused = "passthrough_refused"
    case lossRefused = "loss_refused"
    case outputTooLarge = "output_too_large"

    // Converting and writing.
    case resampleFailed = "resample_failed"
    case encodeFailed = "encode_failed"
    case emptyOutput = "empty_output"
    case sourceIO = "io_source"
    case destinationIO = "io_destination"
    case diskFull = "disk_full"
    case destinationNotSeekable = "destination_not_seekable"
    case metadataTooLarge = "metadata_too_large"
    case outOfMemory = "out_of_memory"
    case frameCountMismatch = "frame_count_mismatch"
    case verifyMismatch = "verify_mismatch"
    case specBroken = "spec_broken"
    case writerFailed = "writer_failed"
    case alreadyFinished = "already_finished"
    case cancelled

    // Limits.
    case outputBytesExceeded = "output_bytes_exceeded"
    case decodedSecondsExceeded = "decoded_seconds_exceeded"
    case expansionExceeded = "expansion_exceeded"
    case cpuExceeded = "cpu_seconds_exceeded"
    case openSecondsExceeded = "open_seconds_exceeded"
    case deadlineExceeded = "deadline_exceeded"
    case tooSlow = "too_slow"

    // Files and roots.
    case sourceNotFound = "source_not_found"
    case sourceChanged = "source_changed"
    case sourceNotServed = "source_not_served"
    case folderNotFound = "folder_not_found"
    case notAFile = "not_a_file"
    case destinationExists = "destination_exists"
    case destinationIsSource = "destination_is_source"
    case permissionDenied = "permission_denied"
    case folderDenied = "folder_denied"
    case readOnly = "read_only"
    case invalidPath = "invalid_path"
    case invalidLocation = "invalid_location"
    case invalidTemplate = "invalid_template"
    case outsideRoot = "outside_root"
    case rootForbids = "root_forbids"
    case unknownRoot = "unknown_root"
    case tooManyFiles = "too_many_files"
    case unsupportedDestination = "unsupported_destination"
    case storageUnavailable = "storage_unavailable"
    case attemptLost = "attempt_lost"
    case attemptConflict = "attempt_conflict"

    // Pump rooms.
    case roomCrash = "room_crash"
    case roomStalled = "room_stalled"
    case roomProtocol = "room_protocol"
    case roomStart = "room_start"
    case sandboxUnavailable = "sandbox_unavailable"

    // The ledger.
    case ledgerBadConfiguration = "ledger_bad_configuration"
    case ledgerCannotReach = "ledger_cannot_reach"
    case ledgerConnectionLost = "ledger_connection_lost"
    case ledgerTimedOut = "ledger_timed_out"
    case ledgerPermissionDenied = "ledger_permission_denied"
    case ledgerMissing = "ledger_missing"
    case ledgerSchemaTooOld = "ledger_schema_too_old"
    case ledgerSchemaTooNew = "ledger_schema_too_new"
    case ledgerMigrationChanged = "ledger_migration_changed"
    case ledgerMigrationFailed = "ledger_migration_failed"
    case ledgerConflict = "ledger_conflict"
    case ledgerRefused = "ledger_refused"
    case ledgerQuotaExceeded = "ledger_quota_exceeded"
    case ledgerContention = "ledger_contention"
    case ledgerLeaseOver = "ledger_lease_over"
    case ledgerReadOnly = "ledger_read_only"
    case ledgerExhausted = "ledger_exhausted"
    case ledgerBadStatement = "ledger_bad_statement"
    case ledgerUnexpectedAnswer = "ledger_unexpected_answer"
    case coordinatorUnexpectedAnswer = "coordinator_unexpected_answer"
    case choreFailed = "chore_failed"

    // Attempts that the ledger ended.
    case workerLost = "worker_lost"
    case workersLost = "workers_lost"
    case roomsCrashed = "rooms_crashed"
    case stalled
    case deadlineMissed = "deadline_missed"

    // Jobs that a worker released.
    case handedBack = "handed_back"
    case draining
    case neighbourCrashed = "neighbour_crashed"
    case fileSystemMissing = "file_system_missing"
    case fileSystemFull = "file_system_full"
    case rootNotWritable = "root_not_writable"
    case albumWaits = "album_waits"
    case unable

    // Errors in Sluice.
    case unexpected
    case workerError = "worker_error"
}

extension FailureCode {
    /// What is said about a code, and what follows from it.
    public struct Entry: Sendable {
        /// What another attempt is worth.
        public let kind: Failure.Kind
        /// Where it can occur, in the order of the work.
        public let stages: [Failure.Stage]
        /// What happened: sentences.
        public let meaning: String
        /// What usually causes it, without a full stop.
        public let cause: String
        /// What to do about it, printed behind `hint:`: one line without a full stop; `nil` if there is nothing to do.
        public let advice: String?
        /// The exit code of a command that ends with this failure.
        public let exitCode: Int32

        init(
            _ kind: Failure.Kind,
            _ stages: [Failure.Stage],
            _ meaning: String,
            cause: String,
            advice: String? = nil,
            exitCode: Int32 = 1
        ) {
            (self.kind, self.stages, self.meaning) = (kind, stages, meaning)
            (self.cause, self.advice, self.exitCode) = (cause, advice, exitCode)
        }
    }

    /// The entry of this code. A test holds that every code has exactly one.
    public var entry: Entry {
        guard let entry = Self.entries[self] else { preconditionFailure("\(rawValue) is not in the catalogue") }
        return entry
    }

    private static let entries = Dictionary(
        FailureSection.all.flatMap(\.entries).map { ($0.code, $0.entry) },
        uniquingKeysWith: { first, _ in first }
    )

    /// What another attempt is worth.
    public var kind: Failure.Kind { entry.kind }
    /// What to do about it; `nil` if nothing has to be done.
    public var advice: String? { entry.advice }

    /// Whether `--on-damage` decides if a conversion fails with this code.
    public var isDamage: Bool { [.truncated, .corruptStream, .timelineGap, .uncountedSound].contains(self) }

    /// The treatment of damage with which a job that failed with this code may succeed; `nil` if none helps.
    package var damageModeThatHelps: DamageMode? {
        switch self {
        case .concealRefused, .uncountedSound: .trustPackets
        default: isDamage ? .conceal : nil
        }
    }
}
