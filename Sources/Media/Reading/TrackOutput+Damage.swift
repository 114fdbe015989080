import Conversion

/// How an output handles damage: it throws, or records the damage and keeps the clock right.
extension TrackOutput {
    /// Compares the frames that the last packet gave with those that its container states, if that is exact.
    func settlePacket() throws {
        let loss = journal.settlePacket(at: clock.decoded, holdsBack: feed.codec.heldBackFrames > 0)
        if let loss { try bear(loss) }
    }

    func note(_ error: LibAVError) throws {
        if error.wasInterrupted || error.isOutOfMemory || feed.ioFailed { throw unreadable(error) }
        do {
            try settle(error)
        } catch let next as LibAVError {
            // Assessing the damage reads on in the source, which can fail in another way.
            throw unreadable(next)
        }
    }

    /// Damage is permanent: only a source that failed to read is worth another attempt.
    func unreadable(_ error: LibAVError) -> MediaError {
        MediaError(
            error,
            feed.ioFailed ? .sourceIO : .corruptStream,
            at: .decode,
            "the rest of the source cannot be read",
            stream: track.index,
            position: position,
            frame: clock.place + cursor.shift
        )
    }

    /// Classifies the damage, and throws if the damage mode does not tolerate it.
    private func settle(_ error: LibAVError) throws {
        journal.expectNothing()
        if feed.isComplete(after: framesOfLink) { return }
        if feed.isPadding(packet), try !feed.hasMore() { return }
        let isCut = try !feed.hasMore() && feed.isAtEndOfSource
        try bear(
            Loss(
                code: isCut ? .truncated : .corruptStream,
                frames: feed.frames(of: packet) ?? usualFrames,
                detail: isCut
                    ? "the source ends in the middle of its data" : "the \(track.codecName) data cannot be decoded",
                cause: error
            )
        )
    }

    /// Records damage whose extent the next packet's place on the container's clock may correct.
    func bear(_ loss: Loss) throws {
        try refuseIfStrict(loss)
        journal.note(loss)
        journal.bear(loss)
    }

    /// Records that the container marks the current packet as damaged. Nothing of it need be missing.
    func suspect() throws {
        let detail = "the container marks this packet as damaged"
        let mark = Contradiction(.packetMark, found: "a mark at frame \(Figures.grouped(frame))")
        let loss = Loss(code: .corruptStream, frames: 0, detail: detail, contradiction: mark)
        try refuseIfStrict(loss)
        if trustsPackets, isWanted(loss) { journal.ignore(mark) }
        journal.suspect(at: clock.place)
    }

    /// Records `loss` at the clock, or throws if damage is not tolerated. Loss before the range is ignored.
    func enter(_ loss: Loss) throws {
        try refuseIfStrict(loss)
        journal.note(loss)
        if trustsPackets, loss.isByContainer { return pass(over: loss) }
        let isWanted = isWanted(loss)
        let frames = clock.lose(min(loss.frames, greatestLoss))
        let part = cursor.part(at: clock.reached, of: frames)
        if options.damage == .conceal, !journal.isClosed { try checkConcealing(part.frames, loss) }
        if part.frames > 0 || isWanted {
            // Damaged packets may have given too many frames. Damage beyond the end is recorded at the end.
            let place = min(part.start, certainEnd ?? .max)
            journal.record(loss.code, at: place.addingSaturated(cursor.shift), frames: max(0, part.frames))
        }
        if options.damage == .conceal, part.frames > 0 { clock.oweSilence(frames) } else { clock.pass(frames) }
    }

    /// Records what the container says, and keeps to the packets.
    private func pass(over loss: Loss) {
        if isWanted(loss), let contradiction = loss.contradiction {
            let place = clock.reached.addingSaturated(cursor.shift)
            journal.record(loss.code, at: place, frames: 0)
            journal.ignore(contradiction)
        }
        // Nothing follows what is missing at the end.
        if loss.code != .truncated { clock.follow(min(loss.frames, greatestLoss)) }
    }

    private func refuseIfStrict(_ loss: Loss) throws {
        if options.damage == .strict, isWanted(loss) { throw failure(loss) }
    }

    /// Throws if the silence would exceed the limit, before any of it is handed out.
    private func checkConcealing(_ frames: Int64, _ loss: Loss) throws {
        guard frames > 0 else { return }
        let rate = track.sampleRateHz
        let concealed = journal.account.frames + frames
        // Sound after a hole in the middle counts as well, at the same frames per byte as before it.
        let heard = feed.heardFrames(max(0, clock.reached - journal.account.frames), isAtEnd: loss.code == .truncated)
        let limit = options.concealSeconds.map { Int64($0) * Int64(rate) } ?? ConcealLimit.frames(beside: heard, rate)
        if concealed > limit {
            let detail =
                "\(MediaTime(frames: concealed, rate: rate)) of silence would replace missing sound, in a source with "
                + "only \(MediaTime(frames: heard, rate: rate)) of sound"
            throw refusal(.implausibleLength, detail, loss, at: frame)
        }
        try refuseSilenceForClaims(frames, loss, heard)
    }

    /// Throws if much silence would stand for what only the container says is missing. Its statement is then the likelier
    /// error: all data decodes, and none of it is missing.
    private func refuseSilenceForClaims(_ frames: Int64, _ loss: Loss, _ heard: Int64) throws {
        guard loss.isByContainer, !journal.hasLostData, !options.concealsClaims, options.concealSeconds == nil else {
            return
        }
        if loss.code == .truncated, feed.isCut { return }
        journal.claim(frames, loss, at: frame)
        // How much follows in a pipe is known at its end.
        if feed.demuxer.source.size == nil, loss.code != .truncated { return }
        try refuseClaims(beside: heard)
    }

    /// The same of a pipe, where the last range ends.
    func refuseClaimsOfPipe() throws {
        guard feed.demuxer.source.size == nil, !journal.hasLostData else { return }
        try refuseClaims(beside: clock.reached - journal.claimedFrames)
    }

    private func refuseClaims(beside heard: Int64) throws {
        guard let (loss, place) = journal.firstClaim else { return }
        let (rate, claimed) = (track.sampleRateHz, journal.claimedFrames)
        let whole = heard.addingSaturated(claimed)
        guard ConcealLimit.refuses(claimed, of: whole, rate) else { return }
        let share = Int64(Double(claimed) / Double(max(1, whole)) * 100)
        let detail =
            "silence would fill \(share) % of the result (\(MediaTime(frames: claimed, rate: rate)) of "
            + "\(MediaTime(frames: whole, rate: rate))), although all packets of the source decode; \(loss.detail)"
        throw refusal(.concealRefused, detail, loss, at: place)
    }

    private func refusal(_ code: FailureCode, _ detail: String, _ loss: Loss, at frame: Int64) -> MediaError {
        let place = MediaTime(frames: frame, rate: track.sampleRateHz)
        var error = MediaError(code, at: .decode, detail, stream: track.index, position: place, frame: frame)
        error.contradiction = loss.evidence
        return error
    }

    /// Whether `loss`, at the clock, touches the current range.
    private func isWanted(_ loss: Loss) -> Bool { cursor.isTouched(at: clock.reached, by: loss.frames) }

    /// Where the output ends at the latest once there is damage.
    private var certainEnd: Int64? {
        (feed.endsWhereItPromised ? link.track.sourceLength.exactFrames : feed.soundEnd).map {
            link.place(of: $0, rate: clock.rate)
        }
    }

    /// Frames of the stream that is read, at its own rate.
    private var framesOfLink: Int64 { link.frames(upTo: clock.reached, rate: clock.rate) }

    /// The longest loss possible, so that damaged numbers do not produce hours of silence.
    private var greatestLoss: Int64 {
        guard let promised = link.track.sourceLength.frames else { return Int64(track.sampleRateHz) * 600 }
        if let certainEnd { return max(0, certainEnd - clock.reached) }
        let left = link.place(of: promised, rate: clock.rate) + Int64(track.sampleRateHz / 5) - clock.reached
        return left > 0 ? left : Int64(track.sampleRateHz) * 600
    }

    /// Fails before hours are decoded, if the header of a file is known to count too little and all is wanted.
    func refuseUncountedSound() throws {
        guard options.damage == .strict, cursor.isWhole, let loss = feed.knownUncountedSound else { return }
        throw failure(loss, at: track.length.exactFrames ?? 0)
    }

    private func failure(_ loss: Loss) -> MediaError {
        // libav may have read on behind the sound.
        failure(loss, at: min(clock.reached, certainEnd ?? .max).addingSaturated(cursor.shift))
    }

    private func failure(_ loss: Loss, at frame: Int64) -> MediaError {
        let place = MediaTime(frames: frame, rate: track.sampleRateHz)
        var error: MediaError
        if let cause = loss.cause {
            error = MediaError(
                cause,
                loss.code,
                at: .decode,
                loss.detail,
                stream: track.index,
                position: place,
                frame: frame
            )
        } else {
            error = MediaError(
                loss.code,
                at: .decode,
                loss.detail,
                stream: track.index,
                position: place,
                frame: frame,
                hint: loss.hint
            )
        }
        // A stop or a lack of memory takes precedence over damage.
        if error.code.isDamage { error.contradiction = loss.evidence }
        return error
    }

    func endEarly(_ error: LibAVError) throws {
        let delivered = framesOfLink + (journal.pending?.frames ?? 0)
        if feed.isComplete(after: delivered) { return }
        let isCut = feed.isAtEndOfSource
        // The promised length, if there is one, decides how much is missing.
        try bear(
            Loss(
                code: isCut ? .truncated : .corruptStream,
                frames: 0,
                detail: isCut
                    ? "the source ends in the middle of its data" : "the rest of the container cannot be read",
                cause: error
            )
        )
    }

    /// The damage of a header whose length leaves out packets: no encoder pads by more than a second.
    private func uncountedPackets(behind length: LengthPromise) -> Loss? {
        let rate = track.sampleRateHz
        guard feed.isCutWherePaddingBegins, journal.account.isEmpty || trustsPackets, let promised = length.frames
        else { return nil }
        // Trusted packets are sound behind the stated length, too.
        let isAll = trustsPackets && feed.paddingStart(clock.followed) == nil
        let surplus = isAll ? framesOfLink - promised : surplusFrames
        guard surplus > max(Int64(rate), Int64(track.paddingFrames ?? 0)) else { return nil }
        let held = MediaTime(frames: promised.addingSaturated(surplus), rate: rate)
        let rest = "\(Plural.count(surplus, "frame")) follow in its packets"
        return .uncounted(MediaTime(frames: promised, rate: rate), of: held, rest)
    }

    /// Checks at the end of the source that everything promised was delivered.
    func settleEnd() throws {
        guard !track.isEmpty else { return }
        if !clock.hasStarted, journal.pending == nil, clock.place == 0 {
            throw MediaError(
                .noDecodableFrame,
                at: .decode,
                "no frame of the \(track.codecName) track could be decoded",
                stream: track.index
            )
        }
        // However roughly a container states a length, nothing of it is not rounding.
        let stated = link.track.sourceLength
        if journal.pending == nil, clock.reached == 0, stated.shortfall(0) == 0, let promised = stated.frames,
            promised > 0
        {
            throw MediaError(
                .noDecodableFrame,
                at: .decode,
                "the \(track.codecName) packets gave no frame of about \(promised) that the container states",
                stream: track.index
            )
        }
        try feed.refuseHiddenSound()
        remarksAtEnd = feed.remarks
        journal.bear(feed.takeLoss())
        let length = feed.isJoined ? feed.joinedFrames.map(LengthPromise.exact) ?? .none : link.track.sourceLength
        let isComplete = length.exactFrames.map { framesOfLink >= $0 } ?? false
        if let loss = journal.pending, !isComplete {
            let left = length.exactFrames.map { max(0, $0 - framesOfLink) } ?? .max
            try enter(loss.costing(min(loss.frames, left)))
        }
        journal.takePending()
        // What a clock that ran ahead of trusted packets had counted is told already.
        let told = framesOfLink.addingSaturated(clock.followed)
        let shortfall = feed.headerCountsItself ? 0 : length.shortfall(told)
        let missing = shortfall > feed.mostKeptAtEnd ? shortfall : 0
        if missing > 0, let promised = length.frames {
            let rate = link.track.sampleRateHz
            let detail =
                (feed.isJoined ? "the headers of the joined files promise " : "the header promises ")
                + "\(MediaTime(frames: promised, rate: rate)) (frame \(promised)), but the data ends earlier"
            let contradiction = Contradiction(
                .statedLength,
                promised: Contradiction.length(promised, rate: rate),
                found: Contradiction.length(promised - missing, rate: rate)
            )
            try enter(Loss(code: .truncated, frames: missing, detail: detail, contradiction: contradiction))
        } else if feed.endsUnmarked, journal.account.isEmpty {
            let mark = Contradiction(.endMark, promised: "a mark of its end", found: "the end of the source")
            let detail = "the source stops in the middle of its stream"
            try enter(Loss(code: .truncated, frames: 0, detail: detail, contradiction: mark))
        }
        if missing == 0 {
            if let loss = feed.uncountedSound {
                // Of a file, trusted packets reach to its end. Of a pipe, they have passed, and are not in the output.
                if trustsPackets, isWanted(loss) { throw failure(loss) }
                try enter(loss)
            } else if let loss = uncountedPackets(behind: length) {
                try enter(loss)
            }
        }
        // The MD5 in the header is that of the first of joined files.
        if let digest, journal.account.isEmpty, !feed.isJoined, !link.isLater, !digest.matches() {
            let detail =
                "every frame can be decoded, but the MD5 of all samples is not the MD5 in the header, so the samples or "
                + "the header were changed after encoding"
            let hint = "--on-damage skip converts the samples as they are"
            let contradiction = Contradiction(.digest, promised: "its MD5 in the header", found: "another MD5")
            var loss = Loss(code: .corruptStream, frames: 0, detail: detail, hint: hint)
            loss.contradiction = contradiction
            try enter(loss)
        }
        journal.recordSuspicion()
    }
}
