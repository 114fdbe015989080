import Conversion

extension Converter {
    /// The formats of outputs that are parts of the source, with every field resolved.
    func resolvedPieces(of track: Track) throws -> [ResolvedFormat] {
        let formats = [request.format] + request.furtherFormats
        guard request.outputRanges.count == formats.count else {
            let ranges = Plural.count(request.outputRanges.count, "range")
            throw MediaError(.recipeRefused, at: .open, "\(ranges) for \(Plural.count(formats.count, "output"))")
        }
        return try formats.indices.map { index in
            try MediaError.ofOutput(index, of: formats.count) {
                let shape = track.shape(in: [request.outputRanges[index]])
                let format = try resolve(formats[index], for: shape, stream: track.index)
                if format.codec == .copy { throw packetsCannotBeCut(track) }
                return format
            }
        }
    }

    /// Cuts `track` into the ranges of the outputs, in one pass.
    func cut(
        _ track: Track,
        _ reader: Reader,
        _ formats: [ResolvedFormat],
        into destinations: [Int32],
        _ lostByUs: [[Remark]],
        _ cpuAtStart: Duration,
        _ report: Pump.Report?
    ) throws -> [Outcome] {
        try checkCount(formats, destinations)
        let ranges = request.outputRanges
        let cutter = try PieceCutter(ranges, of: track) { index in
            let options = writerOptions(reader, track, as: formats[index], stating: [], ofOutput: index)
            return try Writer(descriptor: destinations[index], format: formats[index], options: options)
        }
        let span = ranges[0].union(ranges[ranges.count - 1])
        let output = try reader.samples(of: track, ranges: span == .whole ? [] : [span])
        let budget = BudgetWatch(
            request.budget,
            track: track,
            sourceBytes: reader.sourceBytes,
            since: cpuAtStart,
            outputs: OutputSound(ofParts: formats)
        )
        try Pump(from: output, to: cutter).run(within: budget, report: report)
        let summaries = try cutter.finish()
        let findings = try findings(summaries, formats, destinations, cpuAtStart) { verified, whole in
            let frames = output.deliveredFrames
            report?(.verifying(frames.scaled(verified, of: whole), after: frames, on: track))
        }
        return formats.indices.map { index in
            let oneBit = SampleRemarks.oneBit(track, in: formats[index])
            return Outcome(
                source: track,
                format: formats[index],
                sourceFrames: output.deliveredFrames,
                summary: summaries[index],
                damage: output.damage,
                verified: findings[index],
                remarks: (summaries[index].remarks + lostByUs[index] + output.remarks + oneBit).lossesFirst,
                loudness: nil
            )
        }
    }

    /// The parts of the source that an output has; none for all of it.
    func ranges(ofOutput index: Int) -> [MediaTimeRange] {
        request.outputRanges.isEmpty ? request.ranges : [request.outputRanges[index]]
    }

    /// The tags that the request sets in an output. Those for this output win.
    func tags(ofOutput index: Int) -> [String: Recipe.TagValues] {
        guard index < request.outputTags.count, !request.outputTags[index].isEmpty else { return request.tags }
        var tags = request.tags
        for (name, values) in request.outputTags[index] { tags.set(name, to: values) }
        return tags
    }

    func packetsCannotBeCut(_ track: Track) -> MediaError {
        MediaError(
            .passthroughRefused,
            at: .open,
            "packets cannot be cut at a frame",
            stream: track.index,
            hint: "choose a codec to convert a part of the source; passthrough copies whole tracks"
        )
    }
}
