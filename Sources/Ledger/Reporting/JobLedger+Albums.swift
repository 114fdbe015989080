public import Conversion

/// How far the album of a job is.
public enum AlbumState: Sendable, Hashable {
    /// Tracks are still being measured; `isMeasured` says whether the job's own track has been.
    case open(isMeasured: Bool)
    case closed(AlbumLoudness)
    /// The worker no longer has the job.
    case lost
}

extension JobLedger {
    /// How far the album of a running job is.
    public func album(of fence: Fence, within limit: Duration? = nil) async throws -> AlbumState {
        try await settle("look up an album", within: limit) { connection, _ in
            try connection.first(
                "select * from \(schema).album_of(\(fence.job), \(fence.epoch), \(fence.lease))",
                AlbumState.init
            ) ?? .lost
        }
    }

    /// Records the track of a running job. Returns whether the worker still has the job.
    public func record(_ track: TrackMeasure, of fence: Fence, within limit: Duration? = nil) async throws -> Bool {
        let (album, report) = (track.album, try JSON(track.report))
        return try await settle("record the loudness of a track", within: limit) { connection, _ in
            try connection.value(
                """
                select \(schema).record_track(
                    \(fence.job), \(fence.epoch), \(fence.lease), \(album.steps.map { Int16($0) }), \(album.blocks),
                    \(album.energies), \(album.truePeakDBTP), \(report))
                """
            )
        }
    }
}

extension AlbumState {
    /// A row of `album_of`.
    init(_ row: Row) throws {
        guard try row["is_closed"] else {
            self = .open(isMeasured: try row["is_measured"])
            return
        }
        let steps: [Int16] = try row["steps"] ?? []
        self = .closed(
            AlbumLoudness(
                measure: AlbumMeasure(
                    steps: steps.map { Int($0) },
                    blocks: try row["blocks"] ?? [],
                    energies: try row["energies"] ?? [],
                    truePeakDBTP: try row["true_peak"]
                ),
                track: try (row["report"] as JSON?)?.decoded(during: row.operation)
            )
        )
    }
}
