extension Timeline {
    /// The sources that are heard whole, one after another, and as they are; `nil` if the timeline plays anything else.
    ///
    /// The packets of such sources can be copied.
    public var wholeSources: [String]? {
        guard reasonAgainstCopying == nil else { return nil }
        return tracks[0].pieces.compactMap { piece in
            if case .source(let name, _) = piece.material { name } else { nil }
        }
    }

    /// Why packets of the sources cannot be copied for this timeline; `nil` if they may be.
    public var reasonAgainstCopying: String? {
        guard sampleRateHz == nil, layout == nil else {
            return "copied packets keep the rate and the channels of their source"
        }
        guard padTo == nil else { return "silence cannot be copied" }
        guard limit == nil else { return "copied packets cannot be limited" }
        guard tracks.count == 1, let track = tracks.first else { return "copied packets cannot be mixed" }
        guard track.start == .zero else { return "silence cannot be copied" }
        guard track.gain == .unity, track.pan == .centre, track.ramps.isEmpty else {
            return "the level of copied packets cannot change"
        }
        for piece in track.pieces {
            switch piece.material {
            case .silence: return "silence cannot be copied"
            case .track: return "copied packets cannot be mixed"
            case .source(let name, let range):
                guard range == .whole else { return "only whole sources are copied" }
                guard piece == Piece(.source(name)) else { return "copied packets cannot be edited" }
            }
        }
        return track.pieces.isEmpty ? "there is nothing to copy" : nil
    }
}
