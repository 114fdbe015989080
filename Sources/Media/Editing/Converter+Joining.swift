import Conversion

/// Joins whole sources without decoding them.
extension Converter {
    /// How the sources of a timeline become one output.
    struct Joining {
        /// What is copied, and as what; `nil` if the sound is encoded.
        var copied: (packets: JoinedPackets, format: ResolvedFormat)?
        /// Why packets are not copied though they should be; empty if that was not asked for.
        var remarks: [Remark] = []
    }

    /// Whether packets are copied. Throws `passthrough_refused` with the reason if they cannot be, and only copying was asked
    /// for.
    func joining(_ composition: CompositionReader) throws -> Joining {
        let copiesOnly = request.format.codec == .copy
        guard copiesOnly || request.copiesPackets else { return Joining() }
        if !copiesOnly, request.damage != .strict {
            let reason = "what is done about damage needs decoded sound"
            return Joining(remarks: [Remark(.packetsEncoded, "the sound was encoded: \(reason)")])
        }
        do {
            let packets = try composition.packets()
            return Joining(copied: (packets, try copyFormat(of: packets, composition)))
        } catch let refusal as MediaError where refusal.code == .passthroughRefused && !copiesOnly {
            return Joining(remarks: [Remark(.packetsEncoded, "the sound was encoded: \(refusal.detail)")])
        }
    }

    /// The format of an output that has the packets. Throws if it would not be what the request asks for.
    private func copyFormat(of packets: JoinedPackets, _ composition: CompositionReader) throws -> ResolvedFormat {
        func refusal(_ reason: String) -> MediaError { MediaError(.passthroughRefused, at: .open, reason) }
        guard request.furtherFormats.isEmpty, request.waveforms.isEmpty else {
            throw refusal("copied packets are not decoded, so they are the only output")
        }
        guard request.loudness == nil, request.replayGain == nil else {
            throw refusal("the loudness of copied packets is neither measured nor changed")
        }
        let track = packets.described.track
        var shape = track.shape
        shape.frames = packets.plannedFrames
        var wish = request.format
        if wish.codec != .copy {
            let wanted = try resolve(wish, for: composition.shape, stream: nil)
            guard wanted.codec == .aac else { throw refusal("the recipe asks for \(wanted.codec.title)") }
            guard wanted.sampleRateHz == track.sampleRateHz, wanted.channelCount == track.channelCount else {
                throw refusal("the recipe asks for another rate or other channels than the sources have")
            }
            wish = AudioFormat(container: wanted.container, codec: .copy)
        }
        let format = try resolve(wish, for: shape, stream: track.index)
        guard format.native(to: track)?.rules.playsParts == true else {
            throw refusal("\(format.container.title) cannot leave out what encoders add before and after the sound")
        }
        return format
    }

    /// Copies the packets of the sources into one track, whose edit list plays the sound of each source and nothing else.
    ///
    /// The sound is then that of the sources, frame by frame, for readers that obey all edits of an edit list. Others play
    /// some of what the encoders added; the remark `packets_joined` says how much.
    func join(
        _ composition: CompositionReader,
        _ copied: (packets: JoinedPackets, format: ResolvedFormat),
        into destinations: [Int32],
        _ cpuAtStart: Duration,
        _ report: Pump.Report?
    ) throws -> Outcome {
        let (packets, format) = copied
        let track = packets.described.track
        let chapters = chapters(of: composition)
        let lostByUs = remarks(ofSources: composition, chapters, as: format)
        if request.refusesLoss { try lostByUs.refuseLoss(at: .open) }
        let main = description(of: composition.description(ofBook: request.marksSources))
        let output = try outputs([format], destinations) { index, _ in
            writerOptions(
                main,
                stating: [],
                ofOutput: index,
                sourceIsLossless: track.isLossless,
                chapters: chapters.chapters
            )
        }[0]
        // Nothing is decoded here, and a packet may state any length: only bytes and processor time are limited.
        let budget = BudgetWatch(
            Budget(outputBytes: request.budget.outputBytes, cpuSeconds: request.budget.cpuSeconds),
            track: track,
            sourceBytes: nil,
            since: cpuAtStart
        )
        try Pump(carrying: packets, to: output.writer.packets(from: packets)).run(within: budget, report: report)
        let summary = try output.writer.finish()
        let native = format.native(to: track) ?? format
        let finding = try finding(summary, native, output.destination, cpuAtStart) { verified in
            let frames = packets.deliveredFrames
            report?(
                Pump.Progress(
                    position: MediaTime(frames: frames, rate: track.sampleRateHz),
                    frames: frames,
                    totalFrames: frames,
                    verifiedFrames: verified
                )
            )
        }
        if request.verifies {
            try Verifier.compareJoined(descriptor: output.destination, format: native, against: summary, stop: stop)
        }
        let joined = Self.remark(joining: packets, playing: summary.parts)
        return Outcome(
            source: track,
            format: output.writer.format,
            sourceFrames: packets.deliveredFrames,
            summary: summary,
            damage: DamageAccount(),
            verified: finding,
            remarks: (summary.remarks + lostByUs + packets.remarks + [joined]).lossesFirst,
            loudness: nil
        )
    }

    /// Says that packets were copied, and what is heard at joins in players that do not obey all edits to the frame. Reports
    /// keep 200 bytes of it.
    private static func remark(joining packets: JoinedPackets, playing parts: [Range<Int64>]) -> Remark {
        var detail = "the packets of \(Plural.count(packets.count, "source")) were copied"
        let added = zip(parts, parts.dropFirst()).map { $1.lowerBound - $0.upperBound }.max() ?? 0
        if added > 0 {
            detail +=
                "; at joins, players that ignore edits add up to \(Plural.count(added, "frame")) of padding"
        }
        // libav drops a packet of which a later edit plays only the end.
        let missing = parts.dropFirst().map { part -> Int64 in
            let played = part.lowerBound % packets.packetFrames
            return played == 0 ? 0 : packets.packetFrames - played
        }
        if let most = missing.max(), most > 0 {
            detail +=
                ", and those that play whole packets leave out up to \(Plural.count(most, "frame"))"
        }
        return Remark(.packetsJoined, detail, count: Int64(packets.count))
    }
}

extension Verifier {
    /// Reads the packets of a joined output again. Throws `verify_mismatch` unless they are those of the sources, byte by
    /// byte, and the edit list plays the parts that are their sound.
    ///
    /// Decoded samples would tell less: the noise that AAC substitutes for sound differs behind a join.
    static func compareJoined(
        descriptor: Int32,
        format: ResolvedFormat,
        against summary: Writer.Summary,
        stop: StopSignal
    ) throws {
        let options = Reader.Options(nameHint: "output.\(format.container.fileExtensions[0])", stop: stop)
        let reader = try Reader(descriptor: descriptor, options: options)
        let track = try reader.track()
        let parts = (track.edits?.pieces ?? []).map { piece in
            piece.start.map { $0..<($0 + piece.frames) } ?? -1..<0
        }
        guard parts == summary.parts else {
            throw MediaError(
                .verifyMismatch,
                at: .finish,
                "the edit list of the output does not play what is sound in the packets"
            )
        }
        guard let digest = MessageDigest(.md5) else {
            throw MediaError(.outOfMemory, at: .finish, "no memory for an MD5")
        }
        do {
            var feed = try PacketFeed(reader.demuxer, track, bearsDamage: false)
            var packet = try Packet()
            while try feed.next(into: &packet) {
                try stop.check(at: .finish)
                packet.withBytes { digest.update($0) }
            }
        } catch let error as LibAVError {
            throw MediaError(error, .verifyMismatch, at: .finish, "the packets of the output cannot be read")
        }
        guard digest.finishHex() == summary.packetDigest else {
            throw MediaError(.verifyMismatch, at: .finish, "the output has other packets than its sources")
        }
    }
}
