import Conversion
import FoundationEssentials
import Ledger

/// The sound of a job: its outputs, and excerpts of its source and output.
struct SoundView {
    let job: JobSummary
    /// `nil` if this build cannot read the recipe.
    let outputs: PublishedOutputs?
    /// `nil` if the coordinator offers none, or nothing of the job can be heard.
    let excerpts: JobExcerpts?
    /// What the job did to the loudness.
    let loudness: LoudnessChange?
    /// The roots whose outputs a browser may get.
    let downloads: Set<String>
    /// Whether the visitor may have excerpts made.
    let mayPrepare: Bool

    private typealias Side = ExcerptPlan.Side

    /// Whether times of the source can be gone to.
    var keepsTimes: Bool {
        let isAligned = excerpts?.plan.isAligned == true && hears(.output)
        return hears(.source) || isAligned || outputs?.keepsTimes == true
    }

    /// Whether times of the output can be gone to.
    var keepsOutputTimes: Bool {
        let isAligned = excerpts?.plan.isAligned == true
        // Otherwise the first player has the times of the source.
        let isFirst = isAligned || !hears(.source)
        return hears(.output) || isAligned && hears(.source) || isFirst && outputs?.playsFirst == true
    }

    private func hears(_ side: Side) -> Bool { excerpts?.found[side]?.files(downloads) != nil }

    var section: HTML {
        let players = outputs?.players ?? ""
        let excerpts: HTML = self.excerpts.map { "\(comparison($0))\(pages($0.plan))\(states($0))\(way($0))" } ?? ""
        guard !players.isEmpty || !excerpts.isEmpty else { return "" }
        return """
            <section id="listen" aria-labelledby="sound"><div class="bar"><h2 id="sound">Sound</h2> \
            <span class="soft near">\(summary)</span></div>\(excerpts)\(players)</section>

            """
    }

    private var summary: HTML {
        guard let plan = excerpts?.plan, Side.allCases.contains(where: hears) else { return "" }
        let what = plan.sides.filter(hears).map(\.rawValue).joined(separator: " and ").capitalised
        let times: HTML = plan.parts > 1 ? ", \(Self.times(plan))" : ""
        return "\(what)\(times), uncompressed. Damage is silent."
    }

    /// `0:00 to 10:00`
    private static func times(_ plan: ExcerptPlan) -> String {
        let start = MediaTime(value: Int64(plan.start), timescale: 1).short
        return plan.end.map { "\(start) to \($0.short)" } ?? "from \(start)"
    }

    // MARK: - What can be heard

    private func comparison(_ excerpts: JobExcerpts) -> HTML {
        let plan = excerpts.plan
        let heard = plan.sides.compactMap { side in
            excerpts.found[side].flatMap { excerpt in excerpt.files(downloads).map { (side, excerpt, $0) } }
        }
        guard !heard.isEmpty else { return "" }
        let waves: [HTML] = heard.compactMap { side, _, files in
            files.peaks.map { peaks in
                """
                <p class="lab">\(side.rawValue.capitalised)\(level(side))</p><canvas role="img" \
                aria-label="Waveform of the \(side.rawValue)" data-peaks="\(peaks)" data-side="\(side.rawValue)"></canvas>
                """
            }
        }
        let players: [HTML] = heard.map { side, _, files in
            """
            <p class="soft">\(side.rawValue.capitalised)</p><audio controls preload="none" src="\(files.first)" \
            aria-label="\(side.rawValue.capitalised)" data-side="\(side.rawValue)"></audio>
            """
        }
        let key = heard.map { "\($0.1.summary.job)" }.joined(separator: ".")
        let gain: HTML = gain.map { " data-gain=\"\(Figures.decimals($0, 2))\"" } ?? ""
        return """
            \(ruler(excerpts))<div id="heard" data-key="\(key)" data-start="\(plan.start)" data-part="\(plan.part)" \
            data-parts="\(plan.parts)" data-length="\(ExcerptPlan.partLength)"\(gain)><div class="wave" hidden>\(.all(waves))</div>\(.all(players))</div>
            """
    }

    /// The waveform of the whole sound. It stands by itself, so that the player stays when it comes.
    private func ruler(_ excerpts: JobExcerpts) -> HTML {
        guard let whole = excerpts.whole, let peaks = whole.files(downloads)?.first else { return "" }
        return """
            <div id="whole" class="wave" data-key="\(whole.summary.job)" hidden><p class="lab">Whole sound</p>\
            <canvas class="ruler" role="img" aria-label="Waveform of the whole sound" data-peaks="\(peaks)" data-side="whole">\
            </canvas></div>
            """
    }

    /// How much louder the output is than the source, in dB, as far as the job has measured it.
    private var gain: Double? {
        guard excerpts?.plan.isAligned == true, let loudness else { return nil }
        guard let reached = loudness.encodedLUFS ?? loudness.reachedLUFS, let before = loudness.measured.integratedLUFS
        else { return loudness.gainDB }
        return reached - before
    }

    private func level(_ side: Side) -> HTML {
        let level =
            side == .source ? loudness?.measured.integratedLUFS : loudness?.encodedLUFS ?? loudness?.reachedLUFS
        guard excerpts?.plan.isAligned == true, let level else { return "" }
        return "<small>\(Figures.decimals(level, 1)) LUFS</small>"
    }

    // MARK: - What can be had

    private func pages(_ plan: ExcerptPlan) -> HTML {
        guard plan.parts > 1 else { return "" }
        func link(_ part: Int, _ words: HTML) -> HTML {
            guard (0..<plan.parts).contains(part) else {
                return "<span class=\"b\" aria-disabled=\"true\">\(words)</span>"
            }
            let target = PageLink(["jobs", "\(job.job)"], query: [("part", "\(part + 1)")])
            return "<a class=\"b\" href=\"\(target)#listen\">\(words)</a>"
        }
        return """
            <nav class="pages" aria-label="Parts of the sound">\(link(plan.part - 1, "Earlier")) \
            \(link(plan.part + 1, "Later")) <span class="soft">Part \(plan.part + 1) of \(plan.parts), \(Self.times(plan))</span></nav>
            """
    }

    /// What is being made, and what could not be made.
    private func states(_ excerpts: JobExcerpts) -> HTML {
        var parts = excerpts.plan.sides.map { (excerpts.found[$0], "the \($0.rawValue)") }
        parts.append((excerpts.whole, "the waveform of the whole sound"))
        let lines: [HTML] = parts.compactMap { excerpt, what in
            guard let excerpt else { return nil }
            let job = excerpt.summary.job
            if excerpt.isAwaited {
                let lacking = excerpt.lacking.joined(separator: ", ").cutInside(to: 200)
                let why: HTML = lacking.isEmpty ? "" : " It waits: no running worker has \(lacking)."
                return """
                    <p>\(Mark.state(excerpt.summary)) \(what.capitalised) is being prepared by \
                    <a href="\(PageLink.job(job))">job \(job)</a>.\(why)</p>
                    """
            }
            guard let failure = excerpt.failure else { return nil }
            return """
                <p>\(Mark.of(JobState.failed)) \(what.capitalised) is not available: \(failure.message.cutInside(to: 400).sentence) \
                <a href="\(PageLink.job(job))">Job \(job)</a></p>
                """
        }
        return .all(lines)
    }

    /// `15 minutes`
    private static let most = Figures.count(ExcerptPlan.mostSeconds / 60, "minute")

    private func way(_ excerpts: JobExcerpts) -> HTML {
        let (plan, missing) = (excerpts.plan, excerpts.missing(downloads))
        guard mayPrepare else {
            return missing.isEmpty ? "" : "<p class=\"soft\">Only submitters can prepare the sound.</p>"
        }
        // The next attempt would fail as well.
        guard !excerpts.isTooLong else {
            return """
                <p class="soft">The job does not state the length of the source. Such a source can be prepared if it has up to \
                \(Self.most).</p>
                """
        }
        // A file may have been changed, or be gone.
        let isAgain = missing.isEmpty
        if isAgain, plan.sides.contains(where: { excerpts.found[$0]?.isAwaited == true }) { return "" }
        let what = (isAgain ? plan.sides : missing).map { "the \($0.rawValue)" }.joined(separator: " and ")
        let times = plan.parts > 1 ? "\(Self.times(plan)) of " : ""
        let button: HTML =
            isAgain
            ? "<button class=\"b plain\">Prepare it again</button>" : "<button class=\"b\">Prepare the sound</button>"
        let again: HTML = isAgain ? "<input type=\"hidden\" name=\"again\" value=\"yes\">" : ""
        let most: HTML = plan.hasLength ? "" : " The job does not state its length; it may have up to \(Self.most)."
        let words: HTML =
            isAgain
            ? "" : " <span class=\"soft\">A worker makes a copy of \(times)\(what) that browsers play.\(most)</span>"
        return """
            <form class="do" method="post" action="\(PageLink(["jobs", "\(job.job)", "excerpts"]))">\
            <input type="hidden" name="part" value="\(plan.part + 1)">\(again)\(button)\(words)</form>
            """
    }
}
