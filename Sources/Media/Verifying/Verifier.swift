public import Conversion

/// Decodes a finished output and compares it with what was planned.
public enum Verifier {
    /// The result of decoding an output.
    public struct Finding: Sendable, Hashable {
        public let frames: Int64
        public let digest: PCMDigest.Value
        /// The loudness of what was decoded; `nil` unless it was measured, and if it could not be.
        let integratedLUFS: Double?
    }

    /// Reads the output from its start; throws `verify_mismatch` if it differs from the plan.
    @discardableResult
    public static func verify(
        descriptor: Int32,
        format: ResolvedFormat,
        against summary: Writer.Summary,
        stop: StopSignal = StopSignal()
    ) throws -> Finding {
        try verify(
            descriptor: descriptor,
            format: format,
            against: summary,
            stop: stop,
            within: Budget(),
            since: .zero,
            report: { _ in }
        )
    }

    /// Like the public `verify`, within what is left of a conversion's budget. With `measuring`, also measures the loudness.
    /// `report` receives the frames compared so far.
    static func verify(
        descriptor: Int32,
        format: ResolvedFormat,
        against summary: Writer.Summary,
        stop: StopSignal,
        within budget: Budget,
        since cpuAtStart: Duration,
        measuring: Bool = false,
        report: (Int64) -> Void
    ) throws -> Finding {
        let found = try decode(descriptor, format, against: summary, stop, budget, cpuAtStart, measuring, report)
        guard found.frames == summary.decodedFrames else {
            throw MediaError(
                .verifyMismatch,
                at: .finish,
                "the output decodes to \(Plural.count(found.frames, "frame")), not \(summary.decodedFrames)"
            )
        }
        if format.isLossless, let planned = summary.digest, planned != found.digest {
            throw MediaError(
                .verifyMismatch,
                at: .finish,
                "the output decodes to other samples: MD5 \(found.digest.hex), expected \(planned.hex)"
            )
        }
        return found
    }

    /// Extra frames that a codec may decode to: ADTS cannot state where the sound ends in its last packet.
    package static let spareFrames: Int64 = 4_096

    /// Whether the error ended the verification and says nothing about the output.
    private static func ends(_ code: FailureCode) -> Bool {
        // An output that may not be read here is not at fault.
        [.cancelled, .decodedSecondsExceeded, .cpuExceeded, .unable].contains(code)
    }

    private static func decode(
        _ descriptor: Int32,
        _ format: ResolvedFormat,
        against summary: Writer.Summary,
        _ stop: StopSignal,
        _ budget: Budget,
        _ cpuAtStart: Duration,
        _ measuring: Bool,
        _ report: (Int64) -> Void
    ) throws -> Finding {
        let options = Reader.Options(
            nameHint: "output.\(format.container.fileExtensions[0])",
            raw: RawShape(format),
            damage: .strict,
            stop: stop
        )
        do {
            let reader = try Reader(descriptor: descriptor, options: options)
            let track = try reader.track()
            let output = try reader.samples(of: track)
            // Do not limit the expansion: this audio came from our own encoder, so a high ratio is good compression.
            let watch = BudgetWatch(
                Budget(decodedSeconds: budget.decodedSeconds, cpuSeconds: budget.cpuSeconds),
                track: track,
                sourceBytes: nil,
                since: cpuAtStart,
                at: .finish,
                spareFrames: spareFrames
            )
            let digest = PCMDigest()
            var nextReport: Int64 = 0
            var block = try SampleBlock()
            var converter: FormatConverter?
            var meter: LoudnessMeter?
            while try output.next(into: &block) {
                if measuring, let shape = block.shape {
                    let used = try meter ?? LoudnessMeter(shape: shape)
                    meter = used
                    try used.add(&block)
                }
                // 8-bit WavPack decodes to 16 bits, but the digest covers the samples as they were encoded.
                if format.isLossless, let shape = block.shape, let wanted = summary.digestedFormat,
                    wanted != shape.format.interleaved
                {
                    if converter == nil {
                        converter = try FormatConverter(to: shape.with(wanted))
                    }
                    try converter!.convert(&block) { digest.update($0) }
                } else {
                    digest.update(block)
                }
                try watch.check(frames: output.deliveredFrames, rate: track.sampleRateHz)
                guard output.deliveredFrames >= nextReport else { continue }
                nextReport = output.deliveredFrames + Int64(track.sampleRateHz)
                report(output.deliveredFrames)
            }
            let loudness = try meter?.finish().integratedLUFS
            return Finding(frames: output.deliveredFrames, digest: digest.value, integratedLUFS: loudness)
        } catch let error as MediaError where summary.plannedFrames == 0 && error.code == .noDecodableFrame {
            return Finding(frames: 0, digest: PCMDigest().value, integratedLUFS: nil)
        } catch let error as MediaError where !ends(error.code) {
            // Of an output of which nothing more is read, any error is possible.
            try stop.check(at: .finish)
            var failure = MediaError(
                .verifyMismatch,
                at: .finish,
                "the output cannot be decoded: \(error.code.rawValue), \(error.detail)"
            )
            failure.libavName = error.libavName
            failure.libavText = error.libavText
            throw failure
        } catch let error as LibAVError {
            throw MediaError(error, .resampleFailed, at: .finish, "the output's samples cannot be compared")
        }
    }
}

extension SampleShape {
    fileprivate func with(_ format: SampleFormat) -> SampleShape {
        var shape = self
        shape.format = format
        return shape
    }
}

extension ResolvedFormat {
    /// The frames that `frames` encoded frames decode to. Opus always decodes at 48 kHz.
    func decodedFrames(of frames: Int64) -> Int64 {
        codec == .opus ? frames * Int64(OpusHeader.rateHz) / Int64(sampleRateHz) : rules.decodedFrames(of: frames)
    }
}

extension RawShape {
    /// The shape for reading a headerless output back; `nil` for outputs with a header.
    public init?(_ format: ResolvedFormat) {
        guard format.rules.isHeaderless else { return nil }
        self.init(
            demuxerName: format.rules.muxerName(format),
            sampleRateHz: format.sampleRateHz,
            channelCount: format.channelCount
        )
    }
}
