import Conversion

/// Remarks about what happened to the samples on their way into an output.
enum SampleRemarks {
    /// Remarks about how the channels of `shape` are mixed or assigned.
    static func channels(of shape: SampleShape, in format: ResolvedFormat) -> [Remark] {
        guard let mix = ChannelMix(from: shape.layout, to: format.layout) else { return [] }
        if mix.source.isDiscrete {
            guard !mix.target.isDiscrete else { return [] }
            var detail = "\(shape.channelCount) channels without positions were taken in order as \(mix.target)"
            if !format.isLossless, let low = mix.target.lowFrequencyChannel {
                detail += ", where channel \(low + 1) keeps low frequencies only"
            }
            return [Remark(.layoutAssumed, detail)]
        }
        guard !mix.target.isDiscrete else { return [] }
        let lost = lostLayout(mix.target, in: format)
        guard !mix.keepsEveryChannel else { return lost }
        var detail = "\(mix.source) was mixed to \(mix.target), front channels at \(mix.frontGain.decibels) dB"
        if !mix.lostSpeakers.isEmpty { detail += ", low frequency channel left out" }
        return [Remark(.channelsMixed, detail)] + lost
    }

    /// The remark that the container cannot store `layout`. One channel and two are mono and stereo everywhere.
    static func lostLayout(_ layout: ChannelLayout, in format: ResolvedFormat) -> [Remark] {
        guard !layout.isDiscrete, layout.channelCount > 2, !format.storesLayout else { return [] }
        let place = format.codec == .pcm ? "PCM in \(format.container.title)" : format.container.title
        return [
            Remark(.layoutLost, "\(place) has no place for the layout \(layout): the channels keep their order only")
        ]
    }

    /// Remarks about losses in the samples themselves: clipping and depth.
    static func samples(of input: SampleInput, in format: ResolvedFormat, sourceIsLossless: Bool) -> [Remark] {
        var remarks: [Remark] = []
        if input.clippedSamples > 0 {
            let clipped = input.clippedSamples
            let what = clipped == 1 ? "1 sample was" : "\(clipped) samples were"
            remarks.append(Remark(.samplesClipped, "\(what) beyond full scale and cut off there", count: clipped))
        }
        if sourceIsLossless, format.isLossless, let lost = input.lostDepth {
            let from = lost.isFloat ? "\(lost.bits)-bit floats" : "\(lost.bits) bits"
            let depth =
                switch format.sampleKind {
                case .float: "\(format.bitDepth)-bit floats"
                case .integer where lost.isFloat: "\(format.bitDepth) bits"
                case .integer: "\(format.bitDepth)"
                }
            let how = format.sampleKind == .float ? "" : format.dither == .rounding ? ", rounded" : ", dithered"
            remarks.append(Remark(.depthReduced, "\(from) to \(depth)\(how)"))
        }
        return remarks
    }
}
