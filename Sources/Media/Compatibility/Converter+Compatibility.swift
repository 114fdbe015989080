public import Conversion

extension Converter {
    /// Whether `format` fits a track, as a whole or in ranges. Decodes nothing.
    public static func compatibility(
        of format: AudioFormat,
        with track: Track,
        ranges: [MediaTimeRange] = []
    ) -> Compatibility {
        if format.codec == .copy, !ranges.isEmpty, !track.isProtected {
            return .refused(FormatRefusal(reasons: [.cutPackets]))
        }
        let shape = track.shape(in: ranges)
        let facts = SourceFacts(
            shape,
            isProtected: track.isProtected,
            fourCC: track.fourCC,
            isDecoded: Allowlist.decodes(codec: track.codecName)
        )
        do {
            let resolved = try facts.resolved(format)
            return .fits(Forecast(of: resolved, from: shape, length: track.length))
        } catch {
            return .refused(error)
        }
    }

    /// Whether `preset` fits a track.
    ///
    /// `fileExtension` is the destination's, if known: it can choose another container for the same codec.
    public static func compatibility(
        of preset: Preset,
        with track: Track,
        fileExtension: String? = nil,
        ranges: [MediaTimeRange] = []
    ) -> Compatibility {
        compatibility(of: preset.format(forExtension: fileExtension), with: track, ranges: ranges)
    }

    /// Every preset in display order, with the output it would give for the track, or the reasons why it cannot.
    public static func presets(for track: Track, ranges: [MediaTimeRange] = []) -> [PresetCompatibility] {
        Preset.all.map { preset in
            PresetCompatibility(
                preset: preset,
                compatibility: compatibility(of: preset, with: track, ranges: ranges)
            )
        }
    }

    /// Every container with each codec it supports and passthrough, with the output it would give for the track, or
    /// the reasons why it cannot.
    public static func formats(for track: Track, ranges: [MediaTimeRange] = []) -> [FormatCompatibility] {
        Container.allCases.flatMap { container in
            (FormatTable.codecs(for: container) + [.copy]).map { codec in
                FormatCompatibility(
                    container: container,
                    codec: codec,
                    compatibility: compatibility(
                        of: AudioFormat(container: container, codec: codec),
                        with: track,
                        ranges: ranges
                    )
                )
            }
        }
    }
}

extension Forecast {
    fileprivate init(of format: ResolvedFormat, from shape: AudioShape, length: LengthPromise) {
        self.format = format
        frames = shape.frames.map { frames in
            guard format.codec != .copy, shape.sampleRateHz > 0 else { return frames }
            var clock = OutputClock(rate: format.sampleRateHz)
            clock.add(Int(frames), rate: shape.sampleRateHz)
            return clock.planned
        }
        let estimate = frames.flatMap { format.estimatedBytes(frames: $0, floats: LibAV.floatHeader) }
        size = estimate.map { Size(bytes: $0.bytes, exactness: $0.exactness.widened(by: length)) }
    }
}

extension ResolvedFormat.Exactness {
    /// An estimate is no more exact than the length it is based on.
    fileprivate func widened(by length: LengthPromise) -> ResolvedFormat.Exactness {
        guard case .about(let frames, let tolerance) = length else { return self }
        let share = Int(clamping: (Int128(tolerance) * 100 + Int128(frames) - 1) / Int128(max(1, frames)))
        switch self {
        case .exact: return .within(percent: share)
        case .within(let percent): return .within(percent: Int(Int64(percent).addingSaturated(Int64(share))))
        }
    }
}

extension FormatRefusal.Reason {
    fileprivate static let cutPackets = FormatRefusal.Reason(
        field: "codec",
        value: "copy",
        why: "packets cannot be cut at a frame",
        allowed: "the whole track",
        hint: "choose a codec to convert a part of the source"
    )
}
