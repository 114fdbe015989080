extension Resolution {
    mutating func settleEffort(
        _ rule: FormatRule,
        sampleRateHz: Int,
        channelCount: Int
    ) -> (bitRate: Int?, quality: Double?) {
        let title = rule.codec.title
        if let quality = wish.quality {
            if let scale = rule.quality {
                if !scale.contains(quality) {
                    refuse(
                        "quality",
                        "\(quality)",
                        "it is outside \(title)'s scale",
                        allowed: "\(scale.lowerBound) to \(scale.upperBound)"
                    )
                }
            } else {
                let instead = rule.bitRates == .none ? "none" : "a bit rate"
                refuse("quality", "\(quality)", "\(title) has no scale of quality", allowed: instead)
            }
            return (nil, quality)
        }
        if let bitRate = wish.bitRate ?? wish.bitRatePerChannel, rule.bitRates == .none {
            if rule.quality != nil {
                refuse(
                    "bitrate",
                    "\(bitRate)",
                    "\(title) takes a quality, not a bit rate",
                    allowed: "none; set quality"
                )
            } else {
                refuse(
                    "bitrate",
                    "\(bitRate)",
                    "\(title) is lossless and takes no bit rate",
                    allowed: "none"
                )
            }
            return (nil, nil)
        }
        if let bitRate = wish.bitRate {
            if !rule.bitRates.contains(bitRate, sampleRateHz: sampleRateHz, channelCount: channelCount) {
                refuse(
                    "bitrate",
                    "\(bitRate)",
                    "\(title) at \(sampleRateHz) Hz with \(Plural.count(channelCount, "channel")) does not support it",
                    allowed: rule.bitRates.title(sampleRateHz: sampleRateHz, channelCount: channelCount),
                    hint: ratesWith(bitRate, rule, channelCount)
                )
            }
            return (bitRate, nil)
        }
        if let perChannel = wish.bitRatePerChannel {
            let target = perChannel.multipliedReportingOverflow(by: channelCount)
            let sum = target.overflow ? .max : target.partialValue
            return (rule.bitRates.nearest(to: sum, sampleRateHz: sampleRateHz, channelCount: channelCount), nil)
        }
        return Self.usualEffort(rule, sampleRateHz: sampleRateHz, channelCount: channelCount)
    }

    /// A hint with the sample rates at which `bitRate` exists; `nil` if there are none.
    private func ratesWith(_ bitRate: Int, _ rule: FormatRule, _ channelCount: Int) -> String? {
        guard case .list(let rates, _) = rule.rates else { return nil }
        let fitting = rates.filter {
            rule.bitRates.contains(bitRate, sampleRateHz: $0, channelCount: channelCount)
        }
        guard !fitting.isEmpty else { return nil }
        return "\(bitRate) exists at \(fitting.map { String($0) }.joined(separator: ", ")) Hz"
    }

    /// The default effort: so good that few listeners hear a difference.
    ///
    /// MP3 V2 (about 190 kbit/s in stereo), Vorbis 5 (about 160), AAC 64 kbit/s per channel, Opus 64 for mono and
    /// 48 per channel otherwise.
    private static func usualEffort(
        _ rule: FormatRule,
        sampleRateHz: Int,
        channelCount: Int
    ) -> (bitRate: Int?, quality: Double?) {
        let target: Int
        switch rule.codec {
        case .mp3: return (nil, 2)
        case .vorbis: return (nil, 5)
        case .aac: target = 64_000 * channelCount
        case .opus: target = channelCount == 1 ? 64_000 : 48_000 * channelCount
        default: return (nil, nil)
        }
        return (rule.bitRates.nearest(to: target, sampleRateHz: sampleRateHz, channelCount: channelCount), nil)
    }

    mutating func checkLength(_ format: ResolvedFormat, _ rule: FormatRule) {
        guard let limit = rule.maximumBytes, let sourceFrames = source.frames, source.sampleRateHz > 0 else { return }
        let frames = Double(sourceFrames) * Double(format.sampleRateHz) / Double(source.sampleRateHz)
        guard frames < 0x1p56, let estimate = format.estimatedBytes(frames: Int64(frames.rounded(.up))),
            estimate.bytes > limit
        else {
            return
        }
        refuse(
            "length",
            "\(estimate.bytes) bytes",
            "\(rule.container.title) cannot store that many bytes",
            allowed: "at most 4 GB in \(rule.container.title)",
            hint: "use WAV (RF64), W64 or CAF"
        )
    }
}
