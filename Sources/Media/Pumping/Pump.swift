public import Conversion

/// Carries every sample from one output to one input or several, once and in order; or every packet, if nothing is
/// decoded.
///
/// Only the pump knows both sides: a reader never calls the writer, nor a writer the reader.
public final class Pump {
    /// The progress of a pump.
    public struct Progress: Sendable, Hashable {
        /// The position on the source's clock.
        public let position: MediaTime
        /// Frames taken from the source.
        public let frames: Int64
        /// The frames that the source promises; `nil` if it promises none.
        public let totalFrames: Int64?
        /// Frames of the output that were decoded again and compared; `nil` before the verifier starts.
        public let verifiedFrames: Int64?
        /// Frames of the source that a first pass has measured, before any is taken for the output; `nil` without such a
        /// pass.
        public let measuredFrames: Int64?

        init(
            position: MediaTime,
            frames: Int64,
            totalFrames: Int64?,
            verifiedFrames: Int64? = nil,
            measuredFrames: Int64? = nil
        ) {
            self.position = position
            self.frames = frames
            self.totalFrames = totalFrames
            self.verifiedFrames = verifiedFrames
            self.measuredFrames = measuredFrames
        }

        /// The same progress after a first pass that measured so many frames.
        func following(_ measured: Int64) -> Progress {
            Progress(position: position, frames: frames, totalFrames: totalFrames, measuredFrames: measured)
        }

        /// The progress of a first pass.
        static func measuring(_ measured: Int64, of total: Int64?, rate: Int) -> Progress {
            Progress(
                position: MediaTime(frames: 0, rate: rate),
                frames: 0,
                totalFrames: total,
                measuredFrames: measured
            )
        }

        /// The progress of a conversion that took `frames` from `track` and is now being verified.
        static func verifying(_ verified: Int64, after frames: Int64, on track: Track) -> Progress {
            Progress(
                position: MediaTime(frames: frames, rate: track.sampleRateHz),
                frames: frames,
                totalFrames: track.plausibleFrames,
                verifiedFrames: verified
            )
        }
    }

    /// Called on the pump's thread after a block, at most once per second of the source's audio.
    public typealias Report = (Progress) -> Void

    private let carry: (Report?, BudgetWatch?) throws -> Void

    /// Carries decoded samples.
    public convenience init(from output: some SampleOutput, to input: WriterInput) {
        self.init(from: output, to: [input])
    }

    /// Carries decoded samples to several inputs, each of which gets all of them.
    public init(from output: some SampleOutput, to inputs: [WriterInput]) {
        carry = { report, budget in try Pump.carrySamples(output, inputs, report, budget) }
    }

    /// Carries decoded samples to any receivers.
    init(from output: some SampleOutput, to receivers: [any SampleReceiver]) {
        carry = { report, budget in try Pump.carrySamples(output, receivers, report, budget) }
    }

    /// Carries decoded samples to a cutter, whose `finish()` the caller then calls.
    init(from output: some SampleOutput, to cutter: PieceCutter) {
        carry = { report, budget in try Pump.carrySamples(output, [cutter], report, budget) }
    }

    /// Carries packets unchanged.
    public init(from output: PacketOutput, to input: WriterInput) {
        carry = { report, budget in try Pump.carryPackets(output, input, report, budget) }
    }

    /// The same for packets of one source or several.
    init(carrying packets: any PacketSource, to input: WriterInput) {
        carry = { report, budget in try Pump.carryPackets(packets, input, report, budget) }
    }

    /// Runs until the output is exhausted. The caller then calls the writer's `finish()`.
    public func run(report: Report? = nil) throws { try carry(report, nil) }

    /// Like `run(report:)`, and throws once `budget` is exceeded.
    func run(within budget: BudgetWatch, report: Report?) throws { try carry(report, budget) }

    private static func carrySamples(
        _ output: some SampleOutput,
        _ inputs: [any SampleReceiver],
        _ report: Report?,
        _ budget: BudgetWatch?
    ) throws {
        var block = try SampleBlock()
        let (rate, total) = (output.clockRateHz, output.promisedFrames)
        var nextReport: Int64 = 0
        while try output.next(into: &block) {
            let reached = block.position + Int64(block.frameCount)
            try budget?.checkSound(frames: output.deliveredFrames, rate: rate)
            var bytes: Int64 = 0
            for (index, input) in inputs.enumerated() {
                // An input changes nothing in the samples of a block, so the next one gets them as they were.
                try MediaError.ofOutput(index, of: inputs.count) { try input.append(&block) }
                bytes = max(bytes, input.writtenBytes)
            }
            try budget?.check(frames: output.deliveredFrames, bytes: bytes, rate: rate)
            guard let report, output.deliveredFrames >= nextReport else { continue }
            // A second of audio takes far less than 50 ms: reports are frequent enough for people and
            // cheap enough for the converter.
            nextReport = output.deliveredFrames + Int64(rate)
            report(
                Progress(
                    position: MediaTime(frames: reached, rate: rate),
                    frames: output.deliveredFrames,
                    totalFrames: total
                )
            )
        }
    }

    private static func carryPackets(
        _ output: any PacketSource,
        _ input: WriterInput,
        _ report: Report?,
        _ budget: BudgetWatch?
    ) throws {
        var packet = try Packet()
        let rate = output.described.track.sampleRateHz
        var nextReport: Int64 = 0
        while try output.next(into: &packet) {
            try input.append(&packet)
            try budget?.check(frames: output.deliveredFrames, bytes: input.writtenBytes, rate: rate)
            guard let report, output.deliveredFrames >= nextReport else { continue }
            nextReport = output.deliveredFrames + Int64(rate)
            report(
                Progress(
                    position: MediaTime(frames: output.deliveredFrames, rate: rate),
                    frames: output.deliveredFrames,
                    totalFrames: output.promisedFrames
                )
            )
        }
    }
}
