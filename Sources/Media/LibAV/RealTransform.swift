import CLibAV
import Conversion

/// The discrete Fourier transform of real samples, which libavutil computes.
final class RealTransform {
    /// The samples that are transformed at once.
    let size: Int
    private var context: OpaquePointer?
    private let transform: av_tx_fn
    /// Aligned as libavutil needs it.
    private let samples: UnsafeMutablePointer<Float>
    private let values: UnsafeMutablePointer<Float>

    /// Takes ownership of the context and of both buffers.
    private init(
        adopting context: OpaquePointer?,
        _ transform: @escaping av_tx_fn,
        _ samples: UnsafeMutablePointer<Float>,
        _ values: UnsafeMutablePointer<Float>,
        size: Int
    ) {
        (self.context, self.transform, self.samples, self.values) = (context, transform, samples, values)
        self.size = size
    }

    deinit {
        av_tx_uninit(&context)
        av_free(samples)
        av_free(values)
    }

    /// `size` is a power of two.
    static func open(size: Int) throws -> RealTransform {
        var context: OpaquePointer?
        var transform: av_tx_fn?
        var scale: Float = 1
        try check(av_tx_init(&context, &transform, AV_TX_FLOAT_RDFT, 0, Int32(size), &scale, 0), "av_tx_init")
        let bytes = MemoryLayout<Float>.size
        let (first, second) = (av_mallocz(size * bytes), av_mallocz((size + 2) * bytes))
        guard let transform, let samples = first, let values = second else {
            av_tx_uninit(&context)
            av_free(first)
            av_free(second)
            throw MediaError(.outOfMemory, at: .open, "no memory for the spectrum")
        }
        return RealTransform(
            adopting: context,
            transform,
            samples.bindMemory(to: Float.self, capacity: size),
            values.bindMemory(to: Float.self, capacity: size + 2),
            size: size
        )
    }

    /// Transforms the samples that `fill` writes. `take` gets half of the symmetric result: for each frequency from 0 to
    /// half the sample rate, a real and an imaginary part.
    func run(
        _ fill: (UnsafeMutableBufferPointer<Float>) -> Void,
        _ take: (UnsafeBufferPointer<Float>) -> Void
    ) {
        fill(UnsafeMutableBufferPointer(start: samples, count: size))
        transform(context, values, samples, MemoryLayout<Float>.stride)
        take(UnsafeBufferPointer(start: values, count: size + 2))
    }
}
