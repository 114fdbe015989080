import API
import Conversion
import FoundationEssentials
import Ledger

/// Adds up a batch, job by job. Its memory does not grow with the number of jobs.
struct BatchTally: Sendable {
    private var report: BatchReport
    /// The jobs that the batch had at first.
    private let submitted: Int
    private var causes: [CauseName: BatchReport.FailureCause] = [:]
    private var damaged = TopList<BatchReport.DamagedFile>(most: Self.mostDamaged)
    private var remarks: [Remark.Kind: BatchReport.Loss] = [:]
    private var slow = TopList<BatchReport.Effort>(most: Self.mostEfforts)
    private var large = TopList<BatchReport.Effort>(most: Self.mostEfforts)

    static let mostCauses = 200
    static let mostPlaces = 50
    static let mostDamaged = 2_000
    static let mostExamples = 3
    static let mostEfforts = 15
    static let mostTargets = 5

    private struct CauseName: Hashable {
        let code: String
        let kind: Failure.Kind?
        let stage: String
    }

    init(_ batch: BatchSummary, asOf: Date) {
        report = BatchReport(
            batch: batch.batch,
            name: batch.name,
            queue: batch.queue,
            submitter: batch.submitter,
            submittedAt: batch.createdAt,
            asOf: asOf,
            sourcesSkipped: batch.sourcesSkipped
        )
        submitted = batch.jobsSubmitted
    }

    /// The report on all jobs that were added.
    var finished: BatchReport {
        var report = report
        report.jobsForgotten = max(0, submitted - report.jobs.total)
        report.failures = causes.values.sorted { ($1.jobs, $0.code, $0.stage) < ($0.jobs, $1.code, $1.stage) }
        (report.damage.listed, report.damage.unlisted) = (damaged.entries, damaged.unlisted)
        let kinds = remarks.values.sorted { ($1.jobs, $0.kind.rawValue) < ($0.jobs, $1.kind.rawValue) }
        report.losses = kinds.filter(\.kind.isLoss)
        report.otherRemarks = kinds.filter { !$0.kind.isLoss }
        (report.slowest, report.largest) = (slow.entries, large.entries)
        return report
    }

    mutating func add(_ story: JobStory) {
        let job = story.summary
        report.jobs[job.state] += 1
        if job.hasRemarks, job.state == .completed { report.jobsWithRemarks += 1 }
        if job.state.isEnd {
            report.endedAt = max(report.endedAt ?? job.since, job.since)
            report.progress.add(job.since, failed: job.state == .failed || job.state == .accepted)
        }
        addRecipe(of: story)
        var longest: (seconds: Double, attempt: AttemptRecord)?
        for attempt in story.attempts {
            guard let seconds = add(attempt) else { continue }
            if longest.map({ seconds > $0.seconds }) ?? true { longest = (seconds, attempt) }
        }
        if job.state == .failed || job.state == .accepted { addFailure(of: story) }
        addDamage(of: story)
        let bytes = addOutputs(of: story)
        let effort = BatchReport.Effort(
            job: job.job,
            source: job.source,
            state: job.state,
            seconds: longest?.seconds ?? 0,
            audioSeconds: longest?.attempt.facts.audio?.seconds,
            worker: longest?.attempt.workerName,
            bytes: bytes
        )
        if longest != nil { slow.add(effort.seconds, effort) }
        if bytes > 0 { large.add(Double(bytes), effort) }
    }

    // MARK: - What was asked for

    private mutating func addRecipe(of story: JobStory) {
        // `try?`: of a recipe that a newer build wrote, the job's result still counts.
        guard let recipe = try? Recipe(json: story.recipe) else { return }
        if recipe.scan != nil { report.presets.add("scan") }
        for output in recipe.outputs {
            let waveform = output.waveform.map { WaveformWords.kind(ofSpectrogram: $0.spectrogram != nil) }
            let preset = output.preset ?? output.ownPreset.map { "\($0)" }
            // `try?`: an output that this build could not make counts, too.
            let container = (try? output.audioFormat())?.container.rawValue
            report.presets.add(waveform ?? preset ?? container ?? "other")
        }
        report.damageModes.add(recipe.damage.rawValue)
    }

    // MARK: - Attempts

    /// Returns its length in seconds; `nil` while it is under way.
    private mutating func add(_ attempt: AttemptRecord) -> Double? {
        report.startedAt = min(report.startedAt ?? attempt.startedAt, attempt.startedAt)
        switch attempt.outcome {
        case .completed?: report.attempts.completed += 1
        case .failed?: report.attempts.failed += 1
        case .lost?: report.attempts.lost += 1
        case .released?: report.attempts.released += 1
        case .cancelled?: report.attempts.cancelled += 1
        case nil: report.attempts.underWay += 1
        }
        report.cpuSeconds += attempt.facts.cpu?.seconds ?? 0
        if let name = attempt.workerName { report.workers.add(name) }
        if let build = attempt.build { report.builds.add(build) }
        guard let end = attempt.endedAt else { return nil }
        let seconds = max(0, end.timeIntervalSince(attempt.startedAt))
        report.workSeconds += seconds
        return seconds
    }

    // MARK: - Failures

    private mutating func addFailure(of story: JobStory) {
        let job = story.summary
        let failures = story.attempts.compactMap(\.failure)
        let failure = failures.last { $0.code == job.code } ?? failures.last
        let code = job.code ?? failure?.code ?? "unknown"
        let name = CauseName(code: code, kind: job.kind ?? failure?.kind, stage: job.stage ?? failure?.stage ?? "")
        guard causes[name] != nil || causes.count < Self.mostCauses else {
            report.failuresUnlisted += 1
            return
        }
        let entry = FailureCode(rawValue: code)?.entry
        var cause =
            causes[name]
            ?? BatchReport.FailureCause(
                code: code,
                kind: name.kind,
                stage: name.stage,
                lastAt: job.since,
                meaning: entry?.meaning.unmarked,
                usualCause: entry?.cause.unmarked
            )
        cause.jobs += 1
        if job.state == .accepted { cause.accepted += 1 }
        if job.since >= cause.lastAt {
            cause.lastAt = job.since
            // A job that the ledger has ended may have a code that no attempt failed with.
            let own = failure?.code == code ? failure?.hint : nil
            cause.hint = (own ?? entry?.advice)?.unmarked
        }
        if cause.places.count < Self.mostPlaces {
            cause.places.append(
                .init(
                    job: job.job,
                    source: job.source,
                    seconds: failure?.position.flatMap { $0.isNumeric ? $0.seconds : nil },
                    frame: failure?.frame,
                    message: failure?.message ?? ""
                )
            )
        } else {
            cause.unlisted += 1
        }
        causes[name] = cause
    }

    // MARK: - Damage

    private mutating func addDamage(of story: JobStory) {
        guard let file = BatchReport.DamagedFile(story) else { return }
        report.damage.files += 1
        report.damage.places.add(reported: file.damage.stretchCount)
        report.damage.frames.add(reported: file.damage.frames)
        damaged.add(file.lostSeconds, file)
    }

    // MARK: - Outputs

    /// Returns the bytes of all its outputs.
    private mutating func addOutputs(of story: JobStory) -> Int64 {
        let job = story.summary
        guard job.state.isEnd, let facts = story.attempts.last?.facts else { return 0 }
        if let scan = facts.scan {
            // One that found damage has failed, and has decoded all the same.
            report.audioSeconds += facts.audio?.seconds ?? 0
            if let loudness = scan.loudness { addLevel(loudness.integratedLUFS) }
            return 0
        }
        guard job.state == .completed else { return 0 }
        report.audioSeconds += facts.audio?.seconds ?? 0
        let files = job.publishedFiles.compactMap { $0 }
        let bytes = files.reduce(into: Int64(0)) { $0.add(reported: $1.bytes) }
        report.outputs += files.count
        report.bytes.add(reported: bytes)
        let reports = [facts.report].compactMap { $0 } + facts.further
        for conversion in reports {
            let waveform = conversion.waveform.map { WaveformWords.kind(ofSpectrogram: $0.spectrogram != nil) }
            report.formats.add(waveform ?? FormatWords.short(conversion.format))
        }
        var kinds: Set<Remark.Kind> = []
        for remark in facts.reportOnAll?.remarks ?? [] {
            add(remark, of: job, isFirst: kinds.insert(remark.kind).inserted)
        }
        addLoudness(reports.compactMap(\.loudness))
        return bytes
    }

    private mutating func add(_ remark: Remark, of job: JobSummary, isFirst: Bool) {
        var loss =
            remarks[remark.kind] ?? BatchReport.Loss(kind: remark.kind, brief: Remark(remark.kind, "").brief)
        if isFirst { loss.jobs += 1 }
        loss.count.add(reported: remark.count ?? 0)
        if loss.examples.count < Self.mostExamples, !loss.examples.contains(where: { $0.detail == remark.detail }) {
            loss.examples.append(.init(job: job.job, source: job.source, detail: remark.detail))
        }
        remarks[remark.kind] = loss
    }

    private mutating func addLoudness(_ changes: [LoudnessChange]) {
        // The outputs of a job have one source.
        if let first = changes.first { addLevel(first.measured.integratedLUFS) }
        for change in changes {
            if let level = change.encodedLUFS ?? change.reachedLUFS { report.loudness.outputs.add(level) }
            let targets = report.loudness.targetsLUFS
            if targets.count < Self.mostTargets, !targets.contains(change.targetLUFS) {
                report.loudness.targetsLUFS.append(change.targetLUFS)
            }
        }
    }

    private mutating func addLevel(_ level: Double?) {
        if let level { report.loudness.sources.add(level) } else { report.loudness.unmeasured += 1 }
    }
}

extension BatchReport.DamagedFile {
    /// What the last attempt found; `nil` if it found no damage that has places.
    fileprivate init?(_ story: JobStory) {
        guard let attempt = story.attempts.last else { return nil }
        let (job, facts) = (story.summary, attempt.facts)
        if let scan = facts.scan, !scan.damage.isEmpty {
            self.init(
                job: job.job,
                source: job.source,
                state: job.state,
                treatment: DamageMode.outcome(of: nil),
                frames: scan.frames,
                sampleRateHz: scan.sound?.sampleRateHz,
                damage: scan.damage
            )
        } else if let conversion = facts.report, !conversion.damage.isEmpty {
            let mode = story.damageMode(ofAttempt: attempt.epoch)
            // `try?`: of a recipe that a newer build wrote, the damage still counts.
            let recipe = try? Recipe(json: story.recipe)
            self.init(
                job: job.job,
                source: job.source,
                sources: recipe?.sources.count ?? 1,
                state: job.state,
                treatment: DamageMode.outcome(of: mode),
                frames: recipe.flatMap { conversion.wholeFrames(by: $0, onDamage: mode) },
                sampleRateHz: conversion.source.sampleRateHz,
                damage: conversion.damage
            )
        } else {
            return nil
        }
    }
}
