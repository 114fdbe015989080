import Conversion

/// Remarks about what happened to the samples on their way into an output.
enum SampleRemarks {
    /// Remarks about how the channels of `shape` are mixed or assigned.
    static func channels(of shape: SampleShape, in format: ResolvedFormat) -> [Remark] {
        guard let mix = ChannelMix(from: shape.layout, to: format.layout) else { return [] }
        if mix.source.isDiscrete {
            guard !mix.target.isDiscrete else { return [] }
            var detail =
                "\(Plural.count(shape.channelCount, "channel")) without positions \(Plural.past(shape.channelCount)) assigned in order to \(mix.target)"
            if !format.isLossless, let low = mix.target.lowFrequencyChannel {
                detail += ", in which channel \(low + 1) keeps only low frequencies"
            }
            return [Remark(.layoutAssumed, detail)]
        }
        guard !mix.target.isDiscrete else { return [] }
        let lost = lostLayout(mix.target, in: format)
        return (mixing(by: mix).map { [$0] } ?? []) + lost
    }

    /// The remark that channels were mixed; `nil` if each of them is still heard alone.
    static func mixing(by mix: ChannelMix) -> Remark? {
        guard !mix.target.isDiscrete, !mix.keepsEveryChannel else { return nil }
        var detail = "\(mix.source) was mixed to \(mix.target), front channels at \(mix.frontGain.decibels) dB"
        if !mix.lostSpeakers.isEmpty { detail += ", without the low-frequency channel" }
        return Remark(.channelsMixed, detail)
    }

    /// The remark that the container cannot store `layout`. One channel and two are mono and stereo everywhere.
    static func lostLayout(_ layout: ChannelLayout, in format: ResolvedFormat) -> [Remark] {
        guard format.loses(layout) else { return [] }
        let place = format.codec == .pcm ? "PCM in \(format.container.title)" : format.container.title
        return [
            Remark(.layoutLost, "\(place) cannot store the layout \(layout): only the order of the channels is kept")
        ]
    }

    /// Remarks about losses in the samples themselves: clipping and depth.
    static func samples(of input: SampleInput, in format: ResolvedFormat, sourceIsLossless: Bool) -> [Remark] {
        var remarks: [Remark] = []
        if input.clippedSamples > 0 {
            let clipped = input.clippedSamples
            let what = Plural.count(clipped, "sample")
            remarks.append(
                Remark(
                    .samplesClipped,
                    "\(what) exceeded full scale and \(Plural.past(clipped)) clipped",
                    count: clipped
                )
            )
        }
        if sourceIsLossless, format.isLossless, let lost = input.lostDepth { remarks.append(reduced(lost, in: format)) }
        return remarks
    }

    /// The remark that samples have fewer bits in `format` than in their source.
    static func reduced(_ lost: FormatConverter.Depth, in format: ResolvedFormat) -> Remark {
        let from = lost.isFloat ? "\(lost.bits)-bit floats" : "\(lost.bits) bits"
        let depth =
            switch format.sampleKind {
            case .float: "\(format.bitDepth)-bit floats"
            case .integer where lost.isFloat: "\(format.bitDepth) bits"
            case .integer: "\(format.bitDepth)"
            }
        let how =
            format.sampleKind == .float
            ? ""
            : format.dither == .rounding || format.bitDepth >= 32 ? ", rounded" : ", dithered\(shaping(format))"
        return Remark(.depthReduced, "\(from) to \(depth)\(how)")
    }

    /// The remark that one-bit sound became PCM at a rate that keeps all of its noise.
    static func oneBit(_ track: Track, in format: ResolvedFormat) -> [Remark] {
        guard track.codec.isOneBit, format.isLossless, format.sampleRateHz >= track.sampleRateHz else { return [] }
        var lower = track.sampleRateHz
        while lower >= 4 * 44_100 { lower /= 2 }
        let detail =
            "one-bit sound became PCM of \(format.bitDepth) bits at \(Figures.hertz(format.sampleRateHz)), most of it noise "
            + "above hearing; --rate \(lower) leaves most of that out"
        return [Remark(.oneBitDecoded, detail)]
    }

    private static func shaping(_ format: ResolvedFormat) -> String {
        format.dither == .shaped ? " with shaped noise" : ""
    }
}
