// The code of the articles in Media.docc, verbatim, between markers. `DocumentationTests` compares and runs it.

// example: converting
import Conversion
import Foundation
import Media

/// Converts any recording to an MP3 for podcast players, and returns its size in bytes.
func makePodcast(from source: URL, at destination: URL) throws -> Int64 {
    let input = try FileHandle(forReadingFrom: source)
    try Data().write(to: destination)
    let output = try FileHandle(forUpdating: destination)

    let preset = try Preset.named("podcast-mp3")
    let converter = Converter(.init(format: preset.format, tags: ["title": "Episode 1"]))
    let outcome = try converter.run(from: input.fileDescriptor, to: output.fileDescriptor)
    try input.close()
    // Some file systems report a full disk only here.
    try output.close()
    return outcome.summary.bytes
}
// end

// example: asking
/// Describes for every preset what it would make of a source, or why it cannot convert it.
func answers(for source: FileHandle) throws -> [String] {
    let track = try Reader(descriptor: source.fileDescriptor).track()
    return Converter.presets(for: track).map { entry in
        switch entry.compatibility {
        case .fits(let forecast):
            let bytes = forecast.size.map { "\($0.bytes) bytes" } ?? "as long as it takes"
            return "\(entry.preset.name): \(forecast.format.sampleRateHz) Hz, \(bytes)"
        case .refused(let refusal):
            return "\(entry.preset.name): \(refusal)"
        }
    }
}
// end

// example: reading
/// Counts the frames of two minutes, starting at minute five.
func framesOfTwoMinutes(in source: FileHandle) throws -> Int64 {
    let reader = try Reader(descriptor: source.fileDescriptor)
    let range = try MediaTimeRange(
        start: MediaTime(value: 5 * 60, timescale: 1),
        duration: MediaTime(value: 2 * 60, timescale: 1)
    )
    let output = try reader.samples(of: reader.track(), ranges: [range])
    var block = try SampleBlock()
    var frames: Int64 = 0
    while try output.next(into: &block) {
        // block.position is the position of its first frame, counted from the first frame of sound.
        frames += Int64(block.frameCount)
    }
    return frames
}
// end

// example: peaking
/// Finds the loudest sample of each of the given seconds; full scale is 1.
func peaks(of source: FileHandle, inSeconds seconds: [Int64]) throws -> [Float] {
    let reader = try Reader(descriptor: source.fileDescriptor)
    var peaks: [Float] = []
    for second in seconds {
        let range = try MediaTimeRange(
            start: MediaTime(value: second, timescale: 1),
            duration: MediaTime(value: 1, timescale: 1)
        )
        let block = try reader.read(range)
        peaks.append(block.floats.reduce(0) { max($0, abs($1)) })
    }
    return peaks
}
// end

// example: measuring
/// Sums the squares of the first channel's samples in a range of frames. The source must hold 32-bit floats.
func energy(of source: FileHandle, in range: Range<Int64>) throws -> Double {
    let reader = try Reader(descriptor: source.fileDescriptor)
    let samples = try reader.sampleReader(of: reader.track())
    try samples.seek(to: range)
    var block = try SampleBlock()
    var energy = 0.0
    while try samples.next(into: &block) {
        let step = block.shape!.format.isPlanar ? 1 : block.shape!.channelCount
        block.withSamples(as: Float.self) { samples in
            for place in stride(from: 0, to: samples.count, by: step) {
                energy += Double(samples[place]) * Double(samples[place])
            }
        }
    }
    return energy
}
// end

// example: reversing
/// Writes a source backwards, as WAV.
func reverse(_ source: FileHandle, to destination: FileHandle) throws -> Writer.Summary {
    let reader = try Reader(descriptor: source.fileDescriptor)
    let track = try reader.track()
    let reversed = try ReversedOutput(reader.sampleReader(of: track))
    let format = try AudioFormat(container: .wav).resolved(for: track.shape)
    let writer = try Writer(descriptor: destination.fileDescriptor, format: format)
    try Pump(from: reversed, to: writer.samples()).run()
    return try writer.finish()
}
// end

// example: damage
/// Reads a damaged source to its end, and returns the stretches that were replaced by silence.
func lostStretches(in source: FileHandle) throws -> [DamageAccount.Stretch] {
    let reader = try Reader(descriptor: source.fileDescriptor, options: .init(damage: .conceal))
    let output = try reader.samples(of: reader.track())
    var block = try SampleBlock()
    while try output.next(into: &block) {}
    return output.damage.stretches
}
// end

// example: pumping
/// Converts a source to FLAC with its tags and cover, and checks the result by decoding it.
func archive(_ source: FileHandle, in destination: FileHandle) throws -> Writer.Summary {
    let reader = try Reader(descriptor: source.fileDescriptor)
    let track = try reader.track()
    let format = try AudioFormat(container: .flac).resolved(for: track.shape)
    let options = Writer.Options(
        tags: reader.description.tags,
        cover: reader.description.cover,
        digestsSamples: true
    )
    let writer = try Writer(descriptor: destination.fileDescriptor, format: format, options: options)
    try Pump(from: reader.samples(of: track), to: writer.samples()).run()
    let summary = try writer.finish()
    try Verifier.verify(descriptor: destination.fileDescriptor, format: format, against: summary)
    return summary
}
// end

// example: appending
/// Writes three seconds of a computed tone.
func writeTone(to destination: FileHandle) async throws -> Writer.Summary {
    let tone = AudioShape(
        sampleRateHz: 48_000,
        channelCount: 1,
        bitDepth: 32,
        sampleKind: .float,
        codecName: "pcm_f32le",
        isLossless: true
    )
    let format = try AudioFormat(container: .wav).resolved(for: tone)
    let writer = try AsyncWriter(descriptor: destination.fileDescriptor, format: format)
    for second in 0..<3 {
        let samples = (0..<48_000).map { Float(sin(2 * .pi * 440 * Double(second * 48_000 + $0) / 48_000)) / 2 }
        try await writer.append(PCMBlock(samples, sampleRateHz: 48_000, channelCount: 1))
    }
    return try await writer.finish()
}
// end

// example: capturing
/// Passes a block of live audio to the writer, and returns whether the writer took it.
func keep(_ block: PCMBlock, in writer: AsyncWriter) throws -> Bool {
    // false: the writer is busy, and this block is lost. An error: the writer has failed, and the whole output is lost.
    try writer.appendImmediately(block)
}
// end

// example: following
/// Converts, and shows the progress.
func convert(
    _ source: FileHandle,
    to destination: FileHandle,
    show: (Double) -> Void
) async throws -> Converter.Outcome {
    let conversion = AsyncConversion(
        .init(format: AudioFormat(container: .m4a)),
        from: source.fileDescriptor,
        to: destination.fileDescriptor
    )
    async let outcome = conversion.run()
    for await progress in conversion.progress {
        if let fraction = progress.fraction { show(fraction) }
    }
    return try await outcome
}
// end

// example: streaming
/// Finds the loudest sample of a 16-bit source.
func peak(of source: FileHandle) async throws -> Int16 {
    let reader = try await AsyncReader(descriptor: source.fileDescriptor)
    var peak: Int16 = 0
    for try await block in try await reader.blocks() {
        guard let samples = block.samples(as: Int16.self) else { continue }
        peak = samples.reduce(peak) { max($0, $1 == .min ? .max : abs($1)) }
    }
    return peak
}
// end

// example: copying
/// Writes the blocks of a source to an output; decoding and encoding overlap.
func rewrite(_ source: FileHandle, to destination: FileHandle) async throws -> Writer.Summary {
    let reader = try await AsyncReader(descriptor: source.fileDescriptor)
    let blocks = try await reader.blocks()
    let format = try AudioFormat(container: .ogg, codec: .opus).resolved(for: blocks.track.shape)
    let writer = try AsyncWriter(descriptor: destination.fileDescriptor, format: format)
    for try await block in blocks {
        try await writer.append(block)
    }
    return try await writer.finish()
}
// end

// example: composing
/// Puts a jingle before a talk, with a cross-fade, and plays music 18 dB quieter beneath both.
func compose(
    _ sources: (jingle: FileHandle, talk: FileHandle, music: FileHandle),
    into destination: FileHandle
) throws -> Writer.Summary {
    let second = MediaTime(value: 1, timescale: 1)
    let show = Timeline(tracks: [
        .init(pieces: [
            Piece(.source("jingle")),
            Piece(.source("talk"), fadeOut: Fade(second), crossfade: Fade(second, curve: .equalPower)),
        ]),
        .init(gain: Gain(decibels: -18)!, pieces: [Piece(.source("music"))]),
    ])
    let reader = try CompositionReader(
        show,
        inputs: [
            .init(name: "jingle", descriptor: sources.jingle.fileDescriptor),
            .init(name: "talk", descriptor: sources.talk.fileDescriptor),
            .init(name: "music", descriptor: sources.music.fileDescriptor),
        ]
    )
    let format = try AudioFormat(container: .flac).resolved(for: reader.shape)
    let writer = try Writer(descriptor: destination.fileDescriptor, format: format)
    try Pump(from: reader.samples(), to: writer.samples()).run()
    return try writer.finish()
}
// end
