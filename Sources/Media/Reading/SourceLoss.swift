import Conversion

/// What no output has of a source, whatever its format.
enum SourceLoss {
    static func remarks(_ source: SourceDescription) -> [Remark] {
        var remarks: [Remark] = []
        if !source.chapters.isEmpty {
            let count = source.chapters.count
            let noun = count == 1 ? "chapter is" : "chapters are"
            remarks.append(Remark(.chapters, "the source's \(count) \(noun) not carried over", count: Int64(count)))
        }
        return remarks
    }
}

extension [Remark] {
    /// The same remarks, those that speak of a loss first.
    var lossesFirst: [Remark] { filter(\.kind.isLoss) + filter { !$0.kind.isLoss } }

    /// Throws `loss_refused` if one of them speaks of a loss.
    func refuseLoss(at stage: MediaError.Stage) throws {
        let losses = filter(\.kind.isLoss)
        guard !losses.isEmpty else { return }
        throw MediaError(.lossRefused, at: stage, losses.map(\.detail).joined(separator: "; "))
    }
}
