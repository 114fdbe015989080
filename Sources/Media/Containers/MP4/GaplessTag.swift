/// iTunes' own gapless tag, iTunSMPB: how many frames before, in and behind the sound.
struct GaplessTag: Hashable {
    let priming: Int64
    let padding: Int64
    /// The frames of the sound.
    let frames: Int64

    /// Everything that the packets hold by this tag.
    var total: Int64 { priming + frames + padding }

    private init(priming: Int64, padding: Int64, frames: Int64) {
        (self.priming, self.padding, self.frames) = (priming, padding, frames)
    }

    /// The tag of a file with one audio track; `nil` without a usable one.
    init?(_ demuxer: Demuxer) {
        guard demuxer.streams.filter(\.isAudio).count == 1,
            let text = demuxer.tags.first(where: { $0.0 == "iTunSMPB" })?.1
        else { return nil }
        self.init(text)
    }

    /// Hexadecimal numbers, of which the second to fourth are priming, padding and length.
    init?(_ text: String) {
        let words = text.split(separator: " ").prefix(4).map { Int64($0, radix: 16) }
        guard words.count == 4, let priming = words[1], let padding = words[2], let frames = words[3], priming >= 0,
            padding >= 0, priming < 1 << 20, padding < 1 << 20, frames > 0, frames < 1 << 48
        else { return nil }
        self.init(priming: priming, padding: padding, frames: frames)
    }

    /// The numbers in frames of the sound, if each frame of the tag stands for `scale` of them.
    func scaled(by scale: Int64) -> GaplessTag {
        GaplessTag(priming: priming * scale, padding: padding * scale, frames: frames * scale)
    }
}
