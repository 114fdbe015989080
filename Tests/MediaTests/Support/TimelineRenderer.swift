import Conversion
import Foundation
import TestSupport

/// Renders a timeline in memory, in doubles and frame by frame, from the words of the documentation alone.
///
/// All sources have the rate of the clock, and one or two channels.
struct TimelineRenderer {
    let timeline: Timeline
    /// By name.
    let sources: [String: Signal]
    let rate: Int

    /// Channels of samples.
    typealias Sound = [[Double]]

    /// The whole mix.
    func mix() -> Sound {
        let heard = timeline.heardTracks.map { index -> Sound in
            rendered(timeline.tracks[index])
        }
        return added(heard.map { ($0, 0) }, atLeast: frames(timeline.padTo ?? .zero))
    }

    private func rendered(_ track: Timeline.Track) -> Sound {
        var placed: [(sound: Sound, start: Int)] = []
        var end = frames(track.start)
        for piece in track.pieces {
            var sound = sound(of: piece)
            let length = sound[0].count
            if let fade = piece.crossfade {
                let overlap = frames(fade.length)
                sound = multiplied(sound) { $0 < overlap ? rise($0, overlap, fade.curve) : 1 }
                let before = placed[placed.count - 1].sound
                let rest = before[0].count - overlap
                placed[placed.count - 1].sound = multiplied(before) { frame in
                    frame < rest ? 1 : rise(overlap - 1 - (frame - rest), overlap, fade.curve)
                }
                end -= overlap
            }
            placed.append((sound, end))
            end += length
        }
        return levelled(added(placed, atLeast: end), track.gain, track.pan, track.ramps)
    }

    // MARK: Pieces

    private func sound(of piece: Piece) -> Sound {
        var sound = brought(once(piece))
        if piece.isReversed { sound = sound.map { $0.reversed() } }
        switch piece.repeats {
        case .times(let times): sound = sound.map { channel in (0..<times).flatMap { _ in channel } }
        case .until(let end): sound = sound.map { channel in (0..<frames(end)).map { channel[$0 % channel.count] } }
        case nil: break
        }
        sound = levelled(sound, piece.gain, piece.pan, piece.ramps)
        let length = sound[0].count
        if let fade = piece.fadeIn {
            let faded = frames(fade.length)
            sound = multiplied(sound) { $0 < faded ? rise($0, faded, fade.curve) : 1 }
        }
        if let fade = piece.fadeOut {
            let faded = frames(fade.length)
            sound = multiplied(sound) { length - 1 - $0 < faded ? rise(length - 1 - $0, faded, fade.curve) : 1 }
        }
        return sound
    }

    private func once(_ piece: Piece) -> Sound {
        switch piece.material {
        case .silence(let length): [[Double](repeating: 0, count: frames(length))]
        case .source(let name, let range): cut(picked(sources[name]!.channels, piece.channels), range)
        case .track(let name, let range): cut(rendered(timeline.tracks.first { $0.name == name }!), range)
        }
    }

    private func picked(_ channels: Sound, _ pick: ChannelPick?) -> Sound {
        switch pick {
        case nil: channels
        case .left: [channels[0]]
        case .right: [channels[1]]
        case .swap: [channels[1], channels[0]]
        case .numbers(let numbers): numbers.map { channels[$0 - 1] }
        case .sum:
            channels.count == 1 ? channels : [zip(channels[0], channels[1]).map { ($0 + $1) / 2 }]
        }
    }

    private func cut(_ sound: Sound, _ range: MediaTimeRange) -> Sound {
        let end = range.isOpenEnded ? sound[0].count : frames(range.end)
        return sound.map { Array($0[frames(range.start)..<end]) }
    }

    /// The channels of the clock: mono is heard on both sides of a stereo clock.
    private func brought(_ sound: Sound) -> Sound {
        sound.count == channelCount ? sound : Sound(repeating: sound[0], count: channelCount)
    }

    private var channelCount: Int {
        timeline.tracks.flatMap(\.pieces).compactMap { piece in
            guard case .source(let name, _) = piece.material else { return nil }
            return picked(sources[name]!.channels, piece.channels).count
        }.max() ?? 2
    }

    // MARK: Levels

    private func levelled(_ sound: Sound, _ gain: Gain, _ pan: Pan, _ ramps: [Ramp]) -> Sound {
        let loud = multiplied(sound) { amplitude(gain) * level($0, ramps) }
        guard pan != .centre else { return loud }
        let position = pan.position
        return [loud[0].map { $0 * min(1, 1 - position) }, loud[1].map { $0 * min(1, 1 + position) }]
    }

    /// 1 before the first ramp; the end of the last ramp behind it.
    private func level(_ frame: Int, _ ramps: [Ramp]) -> Double {
        var level = 1.0
        for ramp in ramps {
            let (start, end) = (frames(ramp.range.start), frames(ramp.range.end))
            if frame >= end {
                level = amplitude(ramp.to)
            } else if frame >= start {
                let part = (Double(frame - start) + 0.5) / Double(end - start)
                level =
                    ramp.curve == .decibel
                    ? pow(10, (ramp.from.decibels + (ramp.to.decibels - ramp.from.decibels) * part) / 20)
                    : amplitude(ramp.from) + (amplitude(ramp.to) - amplitude(ramp.from)) * part
            }
        }
        return level
    }

    private func amplitude(_ gain: Gain) -> Double { pow(10, gain.decibels / 20) }

    private func rise(_ frame: Int, _ frames: Int, _ curve: Curve) -> Double {
        let part = (Double(frame) + 0.5) / Double(frames)
        return curve == .equalPower ? sin(part * .pi / 2) : part
    }

    private func multiplied(_ sound: Sound, _ factor: (Int) -> Double) -> Sound {
        sound.map { channel in channel.enumerated().map { $1 * factor($0) } }
    }

    private func added(_ sounds: [(sound: Sound, start: Int)], atLeast length: Int) -> Sound {
        let end = max(length, sounds.map { $0.start + $0.sound[0].count }.max() ?? 0)
        var sum = Sound(repeating: [Double](repeating: 0, count: end), count: channelCount)
        for (sound, start) in sounds {
            for (channel, samples) in sound.enumerated() {
                for (frame, sample) in samples.enumerated() { sum[channel][start + frame] += sample }
            }
        }
        return sum
    }

    /// Times in tests lie on frames.
    private func frames(_ time: MediaTime) -> Int { Int((time.seconds * Double(rate)).rounded()) }
}
