import Conversion

extension Converter {
    /// The inputs of the request's waveforms. `usual` is the shape of the sound, should it have no frames.
    func waveforms(_ destinations: [Int32], usual: AudioShape) throws -> [WaveformInput] {
        let count = request.waveforms.count
        guard destinations.count == count else {
            let waveforms = Plural.count(count, "waveform")
            throw MediaError(.recipeRefused, at: .open, "\(destinations.count) descriptors for \(waveforms)")
        }
        let shape = SampleShape(
            format: .s16,
            sampleRateHz: usual.sampleRateHz,
            channelCount: usual.channelCount,
            channelMask: usual.layout?.mask ?? 0
        )
        let before = request.drawsOnly ? 0 : 1 + request.furtherFormats.count
        return try destinations.indices.map { index in
            try MediaError.ofOutput(before + index, of: before + count) {
                try WaveformInput(request.waveforms[index], to: destinations[index], usual: shape)
            }
        }
    }

    /// The destinations of sound, and those of waveforms, which come last.
    func split(_ destinations: [Int32]) -> (sound: [Int32], waveforms: [Int32]) {
        let count = min(request.waveforms.count, destinations.count)
        return (Array(destinations.dropLast(count)), Array(destinations.suffix(count)))
    }

    /// All that get the samples of a conversion, in the order of its outputs.
    func receivers(_ inputs: [WriterInput], _ waveforms: [WaveformInput]) -> [any SampleReceiver] {
        var all: [any SampleReceiver] = inputs
        all += waveforms as [any SampleReceiver]
        return all
    }

    /// Makes nothing but waveforms of a source.
    func draw(_ source: Int32, to destinations: [Int32], _ report: Pump.Report?) throws -> [Outcome] {
        let cpuAtStart = BudgetWatch.now()
        let reader = try open(source, checksDigest: false)
        let track = try reader.track(request.track)
        let inputs = try waveforms(destinations, usual: track.shape)
        let output = try reader.samples(of: track, ranges: request.ranges)
        let budget = BudgetWatch(request.budget, track: track, sourceBytes: reader.sourceBytes, since: cpuAtStart)
        try Pump(from: output, to: inputs).run(within: budget, report: report)
        return try outcomes(
            of: inputs,
            after: 0,
            from: track,
            frames: output.deliveredFrames,
            output.damage,
            output.remarks
        )
    }

    /// Finishes the waveforms, which stand after `before` other outputs.
    func outcomes(
        of inputs: [WaveformInput],
        after before: Int,
        from track: Track,
        frames: Int64,
        _ damage: DamageAccount,
        _ remarks: [Remark] = []
    ) throws -> [Outcome] {
        try inputs.enumerated().map { index, input in
            let summary = try MediaError.ofOutput(before + index, of: before + inputs.count) { try input.finish() }
            return Outcome(
                source: track,
                format: ResolvedFormat(showing: summary),
                sourceFrames: frames,
                summary: Writer.Summary(of: summary),
                damage: damage,
                verified: nil,
                remarks: remarks.lossesFirst,
                loudness: nil,
                waveform: summary.report
            )
        }
    }
}

extension ResolvedFormat {
    /// The samples that a waveform shows.
    fileprivate init(showing summary: WaveformInput.Summary) {
        let (shape, shown) = (summary.shape, summary.report.channelCount)
        let layout: ChannelLayout = shown == 1 ? .mono : ChannelLayout(mask: shape.channelMask) ?? .discrete(shown)
        self.init(
            container: .raw,
            codec: .pcm,
            sampleRateHz: shape.sampleRateHz,
            channelCount: shown,
            layout: layout.channelCount == shown ? layout : .discrete(shown),
            bitDepth: 16,
            sampleKind: .integer,
            endianness: .little
        )
    }
}

extension Writer.Summary {
    fileprivate init(of summary: WaveformInput.Summary) {
        self.init(
            plannedFrames: summary.plannedFrames,
            writtenFrames: summary.frames,
            decodedFrames: summary.frames,
            bytes: summary.bytes,
            digest: nil,
            lostTags: [],
            remarks: [],
            digestedFormat: nil
        )
    }
}
