import Conversion

/// How an output goes on from one stream to the next, in a source where streams follow one another.
///
/// libav keeps the decoder of the first stream, with its header, its state and the number of its channels. Each stream is
/// opened here like a separate file, which begins where its first page does.
extension TrackOutput {
    /// Goes on with the stream that begins at `place` of the source that is read. The decoder has given the rest of the one
    /// before.
    func begin(linkAt place: Int64) throws {
        linkAhead = nil
        journal.expectNothing()
        journal.bear(feed.takeLoss())
        let cut = feed.pages?.isCutBeforeLink == true ? GapWatch.brokenPages(costing: 0) : nil
        if let loss = journal.pending ?? cut { try enter(loss) }
        journal.takePending()
        index?.stop()
        clock.cut(at: soundEnd)
        do {
            try read(Demuxer(feed.demuxer.source.continued(from: place), options))
        } catch let error as MediaError where Self.concernsSource(error) {
            phase = .ended
            try enter(Loss(code: .corruptStream, frames: 0, detail: "the stream that begins here: \(error.detail)"))
            try settleEnd()
        }
    }

    private func read(_ demuxer: Demuxer) throws {
        guard let stream = demuxer.streams.first(where: \.isAudio) else {
            throw MediaError(.noAudioTrack, at: .open, "it has no audio")
        }
        let track = Track(stream, in: demuxer, facts: ContainerFacts.read(demuxer, stream))
        try Reader.refuseUndecodable(stream, track)
        feed = try PacketFeed(demuxer, track, bearsDamage: options.damage != .strict)
        feed.maySkip = false
        decoder = try TrackOutput.decoder(of: track, in: demuxer)
        clock.beginLink(priming: track.undroppedPriming)
        link = SourceLink(track, at: clock)
        phase = .decoding
    }

    /// Whether the stream itself is the reason, and not a stop, a lack of memory or the disk.
    private static func concernsSource(_ error: MediaError) -> Bool {
        ![.cancelled, .outOfMemory, .sourceIO, .sourceNotSeekable, .openSecondsExceeded].contains(error.code)
    }
}
