import Conversion
import FoundationEssentials
import Ledger

@testable import Command

/// A report in which everything has happened, always the same.
enum ReportMaterial {
    private static let start = Date(timeIntervalSince1970: 1_795_079_520)
    private static let names = [
        "podcasts:2026/ep-233-the-tide-tables.wav", "podcasts:2021/ep-114-live.wav", "old-master.wav",
    ]

    static var report: BatchReport {
        var report = BatchReport(
            batch: 17,
            name: "podcasts autumn",
            queue: "default",
            submitter: "token:studio",
            submittedAt: start,
            asOf: start.addingTimeInterval(9_800),
            sourcesSkipped: 96
        )
        (report.startedAt, report.endedAt) = (start.addingTimeInterval(31), start.addingTimeInterval(8_912))
        report.jobs.completed = 340
        report.jobs.failed = 4
        report.jobs.accepted = 1
        report.jobs.cancelled = 2
        report.jobs.skipped = 3
        report.jobs.running = 2
        report.jobs.delayed = 1
        report.jobsWithRemarks = 21
        report.jobsForgotten = 1
        report.attempts.completed = 340
        report.attempts.failed = 9
        report.attempts.lost = 2
        (report.audioSeconds, report.workSeconds, report.cpuSeconds) = (680_400, 8_100, 7_980)
        (report.outputs, report.bytes) = (340, 10_905_200_117)
        report.presets.add("podcast-mp3", 300)
        report.presets.add("podcast-house@2", 53)
        report.formats.add("mp3 128k 44.1 kHz stereo", 340)
        report.damageModes.add("strict", 353)
        report.workers.add("pump-1", 200)
        report.workers.add("pump-2", 151)
        report.builds.add("0.2.0", 351)
        for number in 0..<350 {
            report.progress.add(start.addingTimeInterval(40 + Double(number) * 25), failed: number % 70 == 69)
        }
        report.failures = [
            cause(.truncated, .decode, jobs: 3, accepted: 1, "the data ends at 48:07.113", seconds: 2_887.113),
            cause(.sourceNotFound, .open, jobs: 2, accepted: 0, "it is not there", seconds: nil),
        ]
        addDamage(to: &report)
        report.losses = [
            loss(.tags, jobs: 18, count: 36, "MP3 cannot store 2 tags: isrc, cuesheet"),
            loss(.channelsMixed, jobs: 1, count: 0, "5.1 was mixed to stereo"),
        ]
        report.otherRemarks = [loss(.loudnessMissed, jobs: 2, count: 0, "the output has -17.2 LUFS")]
        for number in 0..<340 {
            report.loudness.sources.add(-30 + Double(number % 17))
            report.loudness.outputs.add(number % 100 == 0 ? -17.2 : -16)
        }
        (report.loudness.targetsLUFS, report.loudness.unmeasured) = ([-16], 1)
        for number in 0..<2 {
            let effort = BatchReport.Effort(
                job: Int64(900 + number),
                source: names[number],
                state: .completed,
                seconds: 312 - Double(number) * 100,
                audioSeconds: 7_200,
                worker: "pump-2",
                bytes: 115_200_000
            )
            report.slowest.append(effort)
            report.largest.insert(effort, at: 0)
        }
        return report
    }

    private static func cause(
        _ code: FailureCode,
        _ stage: Failure.Stage,
        jobs: Int,
        accepted: Int,
        _ message: String,
        seconds: Double?
    ) -> BatchReport.FailureCause {
        var cause = BatchReport.FailureCause(
            code: code.rawValue,
            kind: code.kind,
            stage: stage.rawValue,
            lastAt: start,
            meaning: "What the code means.",
            usualCause: "its usual cause"
        )
        (cause.jobs, cause.accepted, cause.hint) = (jobs, accepted, "what to do about it")
        for number in 0..<2 {
            cause.places.append(
                .init(
                    job: Int64(600 + number),
                    source: names[number],
                    seconds: seconds,
                    frame: seconds.map { Int64($0 * 48_000) },
                    message: message
                )
            )
        }
        cause.unlisted = jobs - 2
        return cause
    }

    private static func addDamage(to report: inout BatchReport) {
        let damages: [(places: [Int64], lost: Int64, state: JobState, rate: Int?)] = [
            ([0, 441_000, 2_205_000], 88_200, .completed, 44_100), ([4_409_999], 4_096, .failed, 44_100),
            ([1_000_000], 512, .failed, nil),
        ]
        for (number, damage) in damages.enumerated() {
            let stretches = damage.places.map { place in
                DamageReport.Stretch(start: place, frames: damage.lost, code: FailureCode.corruptStream.rawValue)
            }
            report.damage.listed.append(
                .init(
                    job: Int64(700 + number),
                    source: names[number],
                    state: damage.state,
                    treatment: damage.state == .completed ? "filled with silence" : "lost",
                    frames: 4_410_000,
                    sampleRateHz: damage.rate,
                    damage: DamageReport(
                        frames: damage.lost * Int64(stretches.count),
                        stretchCount: stretches.count,
                        stretches: stretches
                    )
                )
            )
        }
        (report.damage.files, report.damage.places, report.damage.frames) = (4, 7, 300_000)
        report.damage.unlisted = 1
    }

    private static func loss(_ kind: Remark.Kind, jobs: Int, count: Int64, _ detail: String) -> BatchReport.Loss {
        var loss = BatchReport.Loss(kind: kind, brief: Remark(kind, "").brief)
        (loss.jobs, loss.count) = (jobs, count)
        loss.examples = [.init(job: 800, source: names[0], detail: detail)]
        return loss
    }
}
