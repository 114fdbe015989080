import CLibAV
import Conversion

/// Converts between two shapes with libswresample: sample format, channel mix by our own
/// matrix, and sample rate by soxr.
///
/// Samples that are only rearranged stay integers. Mixing and resampling are computed in floats, so that nothing is
/// clipped or rounded before the end; a `Quantiser` then converts to integers.
struct Resampler: ~Copyable {
    private let context: OpaquePointer
    let input: SampleShape
    let output: SampleShape

    private init(adopting context: OpaquePointer, _ input: SampleShape, _ output: SampleShape) {
        self.context = context
        self.input = input
        self.output = output
    }

    deinit {
        var doomed: OpaquePointer? = context
        swr_free(&doomed)
    }

    /// The bits for which soxr's filter is made.
    enum Precision: Double {
        /// Distortion near -100 dB.
        case low = 16
        /// Distortion below the noise of 16 bits. It is soxr's and libswresample's own choice.
        case usual = 20
        /// Distortion below the noise of 24 bits.
        case fine = 28
        /// The most that soxr offers.
        case finest = 32
    }

    static func open(
        from input: SampleShape,
        to output: SampleShape,
        mix: ChannelMix,
        precision: Precision = .usual
    ) throws -> Resampler {
        guard let context = swr_alloc() else { throw LibAVError("swr_alloc", -12) }
        let resampler = Resampler(adopting: context, input, output)
        let settings = UnsafeMutableRawPointer(context)
        // libswresample would take two names for the same speakers as a mix, and use its own matrix.
        let inputMask = mix.isIdentity ? output.channelMask : input.channelMask
        try withChannelLayout(mask: inputMask, count: input.channelCount) { layout in
            _ = try check(av_opt_set_chlayout(settings, "in_chlayout", &layout, 0), "av_opt_set_chlayout")
        }
        try withChannelLayout(mask: output.channelMask, count: output.channelCount) { layout in
            _ = try check(av_opt_set_chlayout(settings, "out_chlayout", &layout, 0), "av_opt_set_chlayout")
        }
        try check(av_opt_set_sample_fmt(settings, "in_sample_fmt", input.format.code, 0), "av_opt_set_sample_fmt")
        try check(av_opt_set_sample_fmt(settings, "out_sample_fmt", output.format.code, 0), "av_opt_set_sample_fmt")
        try check(av_opt_set_int(settings, "in_sample_rate", Int64(input.sampleRateHz), 0), "av_opt_set_int")
        try check(av_opt_set_int(settings, "out_sample_rate", Int64(output.sampleRateHz), 0), "av_opt_set_int")
        if input.sampleRateHz != output.sampleRateHz {
            try check(av_opt_set(settings, "resampler", "soxr", 0), "av_opt_set resampler=soxr")
            if precision != .usual {
                try check(
                    av_opt_set_double(settings, "precision", precision.rawValue, 0),
                    "av_opt_set_double precision"
                )
            }
        }
        // From 16-bit to 16-bit samples, soxr would dither with a seed from the clock: other bytes on each run.
        if input.sampleRateHz != output.sampleRateHz || !mix.isIdentity {
            let format = output.format.interleaved == .f64 ? SampleFormat.f64Planar.code : SampleFormat.f32Planar.code
            try check(av_opt_set_sample_fmt(settings, "internal_sample_fmt", format, 0), "av_opt_set_sample_fmt")
        }
        if !mix.isIdentity {
            let matrix = mix.rows.flatMap { $0 }
            try check(swr_set_matrix(context, matrix, Int32(input.channelCount)), "swr_set_matrix")
        }
        try check(swr_init(context), "swr_init")
        return resampler
    }

    /// Converts all of `block` into `converted`, which may stay empty while the filter fills.
    func convert(_ block: borrowing SampleBlock, into converted: inout SampleBlock) throws {
        let capacity = try check(swr_get_out_samples(context, block.pointer.pointee.nb_samples), "swr_get_out_samples")
        try converted.reserve(Int(max(capacity, 1)), output)
        let input = UnsafeMutableRawPointer(block.pointer.pointee.extended_data)?
            .assumingMemoryBound(to: UnsafePointer<UInt8>?.self)
        let made = try check(
            swr_convert(
                context,
                converted.pointer.pointee.extended_data,
                capacity,
                input,
                block.pointer.pointee.nb_samples
            ),
            "swr_convert"
        )
        converted.pointer.pointee.nb_samples = made
    }

    /// Drains the filter into `converted`, which stays empty when nothing is left.
    func drain(into converted: inout SampleBlock) throws {
        let capacity = max(try check(swr_get_out_samples(context, 0), "swr_get_out_samples"), 4096)
        try converted.reserve(Int(capacity), output)
        let made = try check(
            swr_convert(context, converted.pointer.pointee.extended_data, capacity, nil, 0),
            "swr_convert drain"
        )
        converted.pointer.pointee.nb_samples = made
    }
}
