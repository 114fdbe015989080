import Conversion
import TestSupport

/// Renders a timeline in memory, in doubles, from the words of the documentation alone; `SampleEditing` has the steps.
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
                sound = multiplied(sound, by: rise(overlap, sound, fade.curve))
                let before = placed[placed.count - 1].sound
                placed[placed.count - 1].sound = multiplied(before, by: fall(overlap, before, fade.curve))
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
        if piece.isReversed { sound = sound.map { SampleEditing.reversed($0) } }
        switch piece.repeats {
        case .times(let times): sound = sound.map { channel in (0..<times).flatMap { _ in channel } }
        case .until(let end): sound = sound.map { SampleEditing.looped($0, to: frames(end)) }
        case nil: break
        }
        sound = levelled(sound, piece.gain, piece.pan, piece.ramps)
        if let fade = piece.fadeIn { sound = multiplied(sound, by: rise(frames(fade.length), sound, fade.curve)) }
        if let fade = piece.fadeOut { sound = multiplied(sound, by: fall(frames(fade.length), sound, fade.curve)) }
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
            channels.count == 1 ? channels : [SampleEditing.mean(of: channels[0], and: channels[1])]
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
        let changes = ramps.map { ramp in
            SampleEditing.Ramp(
                frames(ramp.range.start)..<frames(ramp.range.end),
                from: ramp.from.decibels,
                to: ramp.to.decibels,
                isDecibel: ramp.curve == .decibel
            )
        }
        let loud = multiplied(sound, by: SampleEditing.levels(gain.decibels, changes, count: sound[0].count))
        guard pan != .centre else { return loud }
        let position = pan.position
        return [
            SampleEditing.scaled(loud[0], by: min(1, 1 - position)),
            SampleEditing.scaled(loud[1], by: min(1, 1 + position)),
        ]
    }

    private func rise(_ fade: Int, _ sound: Sound, _ curve: Curve) -> [Double] {
        SampleEditing.rise(over: fade, count: sound[0].count, isEqualPower: curve == .equalPower)
    }

    private func fall(_ fade: Int, _ sound: Sound, _ curve: Curve) -> [Double] {
        SampleEditing.fall(over: fade, count: sound[0].count, isEqualPower: curve == .equalPower)
    }

    private func multiplied(_ sound: Sound, by factors: [Double]) -> Sound {
        sound.map { SampleEditing.multiplied($0, by: factors) }
    }

    private func added(_ sounds: [(sound: Sound, start: Int)], atLeast length: Int) -> Sound {
        let end = max(length, sounds.map { $0.start + $0.sound[0].count }.max() ?? 0)
        var sum = Sound(repeating: [Double](repeating: 0, count: end), count: channelCount)
        for (sound, start) in sounds {
            for channel in sound.indices { SampleEditing.add(sound[channel], to: &sum[channel], at: start) }
        }
        return sum
    }

    /// Times in tests lie on frames.
    private func frames(_ time: MediaTime) -> Int { Int((time.seconds * Double(rate)).rounded()) }
}
