public import Conversion

/// What the report of a conversion says about damage in the source, and its remarks.
public struct JobRemarks: Sendable, Hashable {
    public var damage: DamageReport
    public var remarks: [Remark]

    /// The column `remarks`, which no list of stretches makes long.
    init?(_ json: JSON?) {
        struct Column: Decodable {
            var frames: Int64?
            var places: Int?
            var remarks: [Remark]?
        }
        // `try?`: the report of one job, written by another version or another program, must not fail a list.
        guard let json, let column = try? json.decoded(as: Column.self, during: "read warnings") else { return nil }
        damage = DamageReport(frames: column.frames ?? 0, stretchCount: column.places ?? 0)
        // The same remark may hold for several outputs.
        remarks = (column.remarks ?? []).withoutRepetitions
    }
}

extension [Remark] {
    /// Each remark once, in the order of first mention.
    var withoutRepetitions: [Remark] {
        var seen: Set<Remark> = []
        return filter { seen.insert($0).inserted }
    }
}
