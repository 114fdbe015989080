public import Conversion

/// Decodes what was written and compares it with what was planned.
public enum Verifier {
    /// What decoding an output gave.
    public struct Finding: Sendable, Hashable {
        public let frames: Int64
        public let digest: PCMDigest.Value
    }

    /// Reads the output behind `descriptor` from its start; throws `verify_mismatch` where it is not as planned.
    @discardableResult
    public static func verify(
        descriptor: Int32,
        format: ResolvedFormat,
        against summary: Writer.Summary,
        stop: StopSignal = StopSignal()
    ) throws -> Finding {
        let found = try decode(descriptor, format, against: summary, stop)
        guard found.frames == summary.decodedFrames else {
            throw MediaError(
                .verifyMismatch,
                at: .finish,
                "decoding gives \(found.frames) frames, not \(summary.decodedFrames)"
            )
        }
        if format.isLossless, let planned = summary.digest, planned != found.digest {
            throw MediaError(
                .verifyMismatch,
                at: .finish,
                "decoding gives other samples: MD5 \(found.digest.hex), planned \(planned.hex)"
            )
        }
        return found
    }

    private static func decode(
        _ descriptor: Int32,
        _ format: ResolvedFormat,
        against summary: Writer.Summary,
        _ stop: StopSignal
    ) throws -> Finding {
        let options = Reader.Options(
            nameHint: "output.\(format.container.fileExtensions[0])",
            raw: RawShape(format),
            damage: .strict,
            stop: stop
        )
        do {
            let reader = try Reader(descriptor: descriptor, options: options)
            let output = try reader.samples(of: reader.track())
            let digest = PCMDigest()
            var block = try SampleBlock()
            var converter: FormatConverter?
            while try output.next(into: &block) {
                // WavPack of 8 bits decodes to 16: the digest is of the samples as they went in.
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
            }
            return Finding(frames: output.deliveredFrames, digest: digest.value)
        } catch let error as MediaError where summary.plannedFrames == 0 && error.code == .noDecodableFrame {
            return Finding(frames: 0, digest: PCMDigest().value)
        } catch let error as MediaError where error.code != .cancelled {
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
    /// Frames that decoders give for `frames` encoded ones. Opus decodes at 48 kHz whatever went in, and ADTS has no
    /// place to say where the sound begins and ends.
    func decodedFrames(of frames: Int64) -> Int64 {
        switch (container, codec) {
        case (_, .opus): frames * Int64(ContainerWriting.opusRateHz) / Int64(sampleRateHz)
        case (.adts, _): (frames + 1024 + 1023) / 1024 * 1024
        default: frames
        }
    }
}

extension RawShape {
    /// For reading a headerless output back; `nil` for those that describe themselves.
    public init?(_ format: ResolvedFormat) {
        guard format.container == .raw else { return nil }
        self.init(
            demuxerName: ContainerWriting.muxerName(format),
            sampleRateHz: format.sampleRateHz,
            channelCount: format.channelCount
        )
    }
}
