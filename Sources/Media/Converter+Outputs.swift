import Conversion

extension Converter {
    /// One output while it is being written.
    struct Output {
        let writer: Writer
        let destination: Int32
    }

    /// The format of every output for a source of this shape, with every field resolved.
    func resolved(for shape: AudioShape, stream: Int?) throws -> [ResolvedFormat] {
        let formats = try ([request.format] + request.furtherFormats).map {
            try resolve($0, for: shape, stream: stream)
        }
        guard formats.count > 1 else { return formats }
        guard formats.allSatisfy({ $0.codec != .copy }) else {
            throw MediaError(
                .passthroughRefused,
                at: .open,
                "copied packets are not decoded, so no other output can be made of them",
                stream: stream,
                hint: "convert once for each output"
            )
        }
        let isMeasured = request.loudness != nil || request.replayGain != nil
        guard !isMeasured || formats.allSatisfy({ $0.layout == formats[0].layout }) else {
            throw MediaError(
                .formatRefused,
                at: .open,
                "outputs with different channels differ in loudness, which is measured once for all",
                stream: stream,
                hint: "give all outputs the same channels, or convert once for each"
            )
        }
        return formats
    }

    func resolve(_ format: AudioFormat, for shape: AudioShape, stream: Int?) throws -> ResolvedFormat {
        do {
            return try format.resolved(for: shape)
        } catch {
            let tooLarge = error.reasons.contains { $0.field == "length" }
            var failure = MediaError(
                tooLarge ? .outputTooLarge : .formatRefused,
                at: .open,
                error.description,
                stream: stream,
                hint: error.reasons.compactMap(\.hint).first
            )
            failure.refusal = error
            throw failure
        }
    }

    /// A writer for each format and destination.
    func outputs(
        _ formats: [ResolvedFormat],
        _ destinations: [Int32],
        _ options: (Int, ResolvedFormat) -> Writer.Options
    ) throws -> [Output] {
        try checkCount(formats, destinations)
        return try formats.indices.map { index in
            try MediaError.ofOutput(index, of: formats.count + request.waveforms.count) {
                let (format, destination) = (formats[index], destinations[index])
                let writer = try Writer(descriptor: destination, format: format, options: options(index, format))
                return Output(writer: writer, destination: destination)
            }
        }
    }

    func checkCount(_ formats: [ResolvedFormat], _ destinations: [Int32]) throws {
        guard formats.count != destinations.count else { return }
        let outputs = Plural.count(formats.count, "output")
        throw MediaError(.recipeRefused, at: .open, "\(destinations.count) descriptors for \(outputs)")
    }

    /// All remarks on one output, losses first: `own`, and those about its loudness.
    func remarks(
        _ own: [Remark],
        _ change: LoudnessChange?,
        _ measurements: Measurements,
        _ format: ResolvedFormat
    ) -> [Remark] {
        (own + (change?.remarks ?? []) + statement(of: measurements, in: format).remarks).lossesFirst
    }

    /// Finishes every output.
    func summaries(of outputs: [Output]) throws -> [Writer.Summary] {
        try outputs.enumerated().map { index, output in
            try MediaError.ofOutput(index, of: outputs.count + request.waveforms.count) { try output.writer.finish() }
        }
    }

    /// Verifies every output, one after another, if the request asks for it or its loudness must be measured. `report` gets
    /// the frames verified so far and the number of all.
    func findings(
        _ summaries: [Writer.Summary],
        _ formats: [ResolvedFormat],
        _ destinations: [Int32],
        _ cpuAtStart: Duration,
        _ report: (_ verified: Int64, _ whole: Int64) -> Void
    ) throws -> [Verifier.Finding?] {
        let whole = summaries.reduce(0) { $0 + $1.decodedFrames }
        var before: Int64 = 0
        return try formats.indices.map { index in
            defer { before += summaries[index].decodedFrames }
            return try MediaError.ofOutput(index, of: formats.count + request.waveforms.count) {
                try finding(summaries[index], formats[index], destinations[index], cpuAtStart) {
                    report(before + $0, whole)
                }
            }
        }
    }

    /// Verifies the output if the request asks for it. A lossy one is decoded as well if it is to have a loudness, because its
    /// encoder may change that.
    func finding(
        _ summary: Writer.Summary,
        _ format: ResolvedFormat,
        _ destination: Int32,
        _ cpuAtStart: Duration,
        _ report: (Int64) -> Void
    ) throws -> Verifier.Finding? {
        let measures = request.loudness != nil && !format.isLossless && format.codec != .copy && !request.streams
        guard request.verifies || measures else { return nil }
        return try Verifier.verify(
            descriptor: destination,
            format: format,
            against: summary,
            stop: stop,
            within: request.budget,
            since: cpuAtStart,
            measuring: measures,
            report: report
        )
    }

    /// What the outcome says of `finding`: nothing if it was only for the loudness.
    func verified(_ finding: Verifier.Finding?) -> Verifier.Finding? { request.verifies ? finding : nil }
}

extension LoudnessChange {
    /// The same for the output that `finding` is about.
    func encoded(_ finding: Verifier.Finding?) -> LoudnessChange {
        var change = self
        change.encodedLUFS = finding?.integratedLUFS
        return change.rounded
    }
}

extension MediaError {
    /// Runs a step for one of `count` outputs. If there are several, an error names it by its number, from 1.
    static func ofOutput<Result>(_ index: Int, of count: Int, _ step: () throws -> Result) throws -> Result {
        do {
            return try step()
        } catch var error as MediaError where count > 1 {
            error.output = index + 1
            throw error
        }
    }
}

extension [ResolvedFormat] {
    /// The format that keeps most of the sound: gain and limiting for all outputs are computed at its rate.
    var finest: ResolvedFormat {
        // The first of equals, so that a conversion with one output more gives the same bytes.
        reversed().max { one, other in
            (one.isLossless ? 1 : 0, one.sampleRateHz, one.bitDepth)
                < (other.isLossless ? 1 : 0, other.sampleRateHz, other.bitDepth)
        }!
    }
}

extension Int64 {
    /// This many frames times `part` / `whole`.
    func scaled(_ part: Int64, of whole: Int64) -> Int64 {
        Int64(clamping: Int128(self) * Int128(part) / Int128(Swift.max(1, whole)))
    }
}
