import Conversion
import Glibc
import PumpRoom
import System

/// Runs two conversions of silence, from request to report, so that Swift and libav do their one-time lookups now.
enum Rehearsal {
    private static let rates = (sound: 8_000, copy: 16_000)

    /// Throws if a file in memory cannot be made or a conversion fails.
    static func play() throws {
        let coder = WireCoder()
        _ = try coder.message(RoomRequest.self, in: coder.bytes(RoomRequest.settle(.usual)))
        _ = try coder.bytes(RoomReply.hello(version: wireVersion, build: SluiceBuild.number, level: .none))
        let (silence, sound, copy) = (
            try SharedDescriptor.memory(), try SharedDescriptor.memory(), try SharedDescriptor.memory()
        )
        guard ftruncate(silence.number, 2 * rates.sound) == 0 else {
            throw SystemError(call: "ftruncate", number: errno)
        }
        let raw = Recipe.RawDescription(sampleRateHz: rates.sound, channelCount: 1)
        let first = Recipe(from: .init(location: "silence.raw", raw: raw), to: .init(location: "sound.wav"))
        var second = Recipe(from: .init(location: "sound.wav"), to: .init(location: "copy.wav"))
        second.outputs[0].format = AudioFormat(container: .wav, codec: .pcm, sampleRateHz: rates.copy)
        try carryOut(first, from: silence, to: sound, coder)
        try carryOut(second, from: sound, to: copy, coder)
    }

    private static func carryOut(
        _ recipe: Recipe,
        from source: SharedDescriptor,
        to destination: SharedDescriptor,
        _ coder: WireCoder
    ) throws {
        let request = try coder.bytes(RoomRequest.convert(job: 0, recipe: recipe, streams: false, album: nil))
        guard case .convert(_, let recipe, _, _) = try coder.message(RoomRequest.self, in: request) else { return }
        let again = try coder.bytes(RoomRequest.again(job: 0, streams: false, album: nil))
        _ = try coder.message(RoomRequest.self, in: again)
        _ = try coder.bytes(RoomReply.begun(job: 0, spent: .now()))
        let report = try withExtendedLifetime((source, destination)) {
            try RecipeConversion(recipe).run(from: source.number, to: destination.number)
        }
        let progress = ConversionProgress(position: .zero, frames: 0, totalFrames: nil)
        _ = try coder.bytes(RoomReply.progress(job: 0, progress))
        _ = try coder.bytes(RoomReply.converted(job: 0, report, .now()))
    }
}
