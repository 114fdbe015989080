import Conversion

/// What the header of a file says of its packets.
struct BookPackets: Sendable, Equatable {
    let codec: String
    let sampleRateHz: Int
    let channelCount: Int
    let layout: String?
    /// Frames that the encoder put before the sound, as far as the file states them.
    let delayFrames: Int

    init(_ track: TrackReport) {
        codec = track.codec
        sampleRateHz = track.sampleRateHz
        channelCount = track.channelCount
        layout = track.layout
        delayFrames = track.delayFrames ?? 0
    }

    /// Frames of a packet of AAC-LC. As many must come before the sound of a file that follows another.
    static let frames = 1_024

    /// Why the packets of `files` cannot be copied into one file, as far as their headers tell; `nil` if they can be.
    static func reasonAgainstCopying(_ files: [Book.File]) -> String? {
        guard let first = files.first?.facts?.packets else { return "\(files.first?.name ?? "") cannot be read" }
        for (index, file) in files.enumerated() {
            guard let packets = file.facts?.packets else { return "\(file.name) cannot be read" }
            if packets.codec != Codec.aac.rawValue {
                return "\(file.name) is \(packets.codec), and only packets of AAC are joined"
            }
            let isSame =
                packets.sampleRateHz == first.sampleRateHz && packets.channelCount == first.channelCount
                && packets.layout == first.layout
            if !isSame { return "\(file.name) has another rate or other channels than \(files[0].name)" }
            if index > 0, packets.delayFrames < frames {
                return "\(file.name) does not begin with a packet of priming, so the join would be heard"
            }
        }
        return nil
    }
}
