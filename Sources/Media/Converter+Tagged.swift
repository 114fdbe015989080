import Conversion

/// What a file that gives its tags, pictures and chapters says of its own sound.
extension Converter {
    /// The source as its outputs describe it: like the file that gives the tags, if there is one. What only holds for a
    /// certain sound stays that of the source.
    func description(of own: SourceDescription) -> SourceDescription {
        guard let given = request.tagged else { return own }
        var tags = given.tags.filter { !$0.describesSound }
        if !lengthsAgree(given, own) { tags.removeAll(where: CueSheetTag.isSheet) }
        let keepsSheet = given.chapters.isEmpty && !tags.contains(where: CueSheetTag.isSheet)
        tags += own.tags.filter { $0.describesSound || keepsSheet && CueSheetTag.isSheet($0) }
        return SourceDescription(
            container: given.container,
            tracks: given.tracks,
            tags: tags,
            chapters: given.chapters,
            pictures: given.pictures
        )
    }

    /// Whether both may hold the same sound. Encoders of packets add up to some thousand frames.
    private func lengthsAgree(_ one: SourceDescription, _ other: SourceDescription) -> Bool {
        let lengths = [one, other].compactMap(\.mainTrack).compactMap { track in
            track.plausibleFrames.map { Double($0) / Double(track.sampleRateHz) }
        }
        return lengths.count == 2 && abs(lengths[0] - lengths[1]) <= Self.addedSeconds
    }

    private static let addedSeconds = 0.1
}

extension Tag {
    /// Whether it states what was measured on the sound, or where and when that was recorded. Of other sound it is false.
    var describesSound: Bool { statesLoudness || BroadcastChunks.states(key) }
}
