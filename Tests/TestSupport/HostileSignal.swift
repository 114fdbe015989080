import Glibc

/// Sounds that are hard for a limiter: their peaks lie between samples, come suddenly or do not end.
public enum HostileSignal: String, CaseIterable, Sendable {
    case noise, loudNoise, signs, quarterRate, square, clicks, alternating, bursts, lonePair

    /// Two seconds with silence at both ends, where ffmpeg's resampler would otherwise mirror the sound.
    public func signal(rate: Int) -> Signal {
        let frames = 2 * rate
        var generator = SeededGenerator(seed: 7)
        let random = (0..<frames).map { _ in generator.unit() * 2 - 1 }
        let samples = (0..<frames).map { sample($0, random[$0], rate) }
        let quiet = Signal.silence(rate: rate, frames: 500)
        return quiet.followed(by: Signal(rate: rate, channels: [samples])).followed(by: quiet)
    }

    private func sample(_ place: Int, _ random: Double, _ rate: Int) -> Double {
        let time = Double(place)
        return switch self {
        case .noise: random
        case .loudNoise: random * 4
        case .signs: random < 0 ? -1 : 1
        case .quarterRate: 1.2 * sin(2 * .pi * time / 4 + .pi / 4)
        case .square: sin(2 * .pi * 997 * time / Double(rate)) < 0 ? -1 : 1
        case .clicks: place % 4_801 == 100 ? 1.5 : place % 4_801 == 2_000 ? -1.2 : 0
        case .alternating: place / 7 % 3 == 0 ? (place % 2 == 0 ? 1 : -1) : 0
        case .bursts: place / 2_400 % 2 == 0 ? 0.1 * sin(2 * .pi * 0.01 * time) : sin(2 * .pi * 0.2377 * time)
        case .lonePair: place % 997 < 2 ? 1 : 0
        }
    }
}
