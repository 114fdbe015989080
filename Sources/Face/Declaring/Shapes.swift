import Conversion
import Ledger

/// The shapes of what the face answers: those of `--json`, whose values come from `Records`.
///
/// A test checks live answers against them, so a member that a record gains must be added here.
enum Shapes {
    private static func choice<Word: CaseIterable & RawRepresentable>(_ words: Word.Type) -> Schema
    where Word.RawValue == String { .choice(Word.allCases.map(\.rawValue)) }

    static let labels = Schema.map(.text(0...1_000))

    static let counts = Schema.named(
        "JobCounts",
        .object(JobState.allCases.map { .must($0.rawValue, .whole(), "") })
    )

    private static let jobFields: [Schema.Field] = [
        .must("id", .id, "the job's number"),
        .must("state", choice(JobState.self), "where it is in its life"),
        .must("batch", .id, "the batch that it was submitted with"),
        .must("queue", .text(), "its queue"),
        .must("priority", .whole(by: LedgerRules.priorities), "higher goes first"),
        .must("source", .text(), "the location of its first source"),
        .must("since", .moment, "when it entered its state"),
        .must("attempts", .whole(), "attempts that count, with the one under way"),
        .must("maxAttempts", .whole(), "attempts that it may have"),
        .must("losses", .whole(), "how often it was lost with its worker or machine"),
        .must("roomDeaths", .whole(), "how often it ended its room"),
        .may("code", .text(), "the failure that ended it, or after which it waits"),
        .may("class", choice(Failure.Kind.self), "whether another attempt can succeed"),
        .may("stage", .text(), "the part of the work that failed"),
        .may("readyAt", .moment, "when a delayed job becomes ready, or a tenant's job may start; see waitingFor"),
        .may("worker", .text(), "the worker that holds it or held it last"),
        .may("slot", .whole(), "that worker's slot"),
        .may("frames", .whole(), "frames done"),
        .may("totalFrames", .whole(), "frames to do"),
        .may("isToBeCancelled", .truth, "whether its worker was asked to stop it"),
        .may("digest", .text(), "SHA-256 of the first output"),
        .may("bytes", .whole(), "the length of the first output"),
        .may("furtherOutputs", .list(.anything), "digest and length of the other outputs"),
        .may("placement", choice(Placement.self), "set if the output was not simply published"),
        .may("hasRemarks", .truth, "whether the output lacks something of its source"),
        .may("damage", .anything, "what was damaged, in a list of jobs with remarks"),
        .may("remarks", .list(.anything), "what the output lacks, in a list of jobs with remarks"),
    ]

    static let job = Schema.named("Job", .object(jobFields))

    static let story = Schema.named(
        "JobStory",
        .object(
            jobFields + [
                .may("batchName", .text(), "the batch's name"),
                .must("submitter", .text(), "who submitted it"),
                .must("submittedAt", .moment, ""),
                .may("runAt", .moment, "its earliest start"),
                .must("cost", .whole(), "its share of the queue's turns"),
                .must("needs", .list(.text()), "what a worker must be able to do"),
                .may("missing", .list(.text()), "needs that no running worker has"),
                .must("labels", labels, ""),
                .must("batchLabels", labels, ""),
                .may("waitingFor", choice(JobStory.WaitingFor.self), "why it does not run"),
                .must("recipe", .anything, "what it converts, as docs/editing.md describes"),
                .must("attemptRecords", .list(attempt), "every attempt, oldest first"),
                .may("amendments", .list(.anything), "what retries have changed in the recipe"),
            ]
        )
    )

    private static let attempt = Schema.named(
        "Attempt",
        .object([
            .must("epoch", .whole(), "the number of its claim"),
            .may("outcome", choice(AttemptOutcome.self), "missing while it is under way"),
            .must("startedAt", .moment, ""),
            .may("endedAt", .moment, ""),
            .must("worker", .id, "the worker's number"),
            .may("workerName", .text(), ""),
            .may("host", .text(), ""),
            .may("build", .text(), ""),
            .may("libraries", .text(), "with which the worker converts"),
            .may("slot", .whole(), ""),
            .may("failure", .anything, "code, class, stage, message, position, hint"),
            .may("lastWords", .text(), "what the library said last"),
            .may("framesIn", .whole(), ""),
            .may("framesOut", .whole(), ""),
            .may("audioSeconds", .number, ""),
            .may("cpuSeconds", .number, ""),
            .may("peakBytes", .whole(), ""),
            .may("conversion", .anything, "the report of the conversion"),
            .may("furtherOutputs", .list(.anything), "the reports of the other outputs"),
        ])
    )

    static let batch = Schema.named(
        "Batch",
        .object([
            .must("id", .id, "the batch's number"),
            .may("name", .text(), ""),
            .may("key", .text(), "the key that makes its submission repeatable"),
            .must("queue", .text(), ""),
            .must("priority", .whole(by: LedgerRules.priorities), ""),
            .must("weight", .whole(by: LedgerRules.weights), "its share relative to other batches"),
            .must("labels", labels, ""),
            .must("submitter", .text(), ""),
            .must("createdAt", .moment, ""),
            .must("firstJob", .id, "the lowest number of its jobs"),
            .must("lastJob", .id, "the highest number of its jobs"),
            .must("jobs", counts, ""),
            .must("jobsWithRemarks", .whole(), ""),
            .must("isDone", .truth, "whether all its jobs have ended"),
        ])
    )

    static let receipt = Schema.named(
        "Receipt",
        .object([
            .must("batch", .id, "the batch"),
            .must("firstJob", .id, "the lowest number of its jobs"),
            .must("lastJob", .id, "the highest number of its jobs"),
            .must("jobCount", .whole(), ""),
            .must("isRepetition", .truth, "whether the key had been used, so that nothing was added"),
            .must("isSameRequest", .truth, "whether a repetition asked for the same jobs"),
            .may(
                "clamped",
                .list(.text()),
                "limits that recipes of this request ask for and the tenant does not have: its own hold instead"
            ),
        ])
    )

    static let failureGroup = Schema.named(
        "FailureGroup",
        .object([
            .must("code", .text(), ""),
            .must("class", choice(Failure.Kind.self), ""),
            .must("stage", .text(), ""),
            .must("jobs", .whole(), "jobs that ended with it"),
            .may("attempts", .whole(), "attempts that ended with it, retried ones too; not known for one batch"),
            .must("lastAt", .moment, ""),
            .must("example", .id, "a job that has it"),
            .may("exampleSource", .text(), ""),
            .may("hint", .text(), "what to do"),
        ])
    )

    static let queue = Schema.named(
        "Queue",
        .object([
            .must("queue", .text(), "its name"),
            .must("isPaused", .truth, ""),
            .may("runningLimit", .whole(), "the most jobs that run at once"),
            .must("weight", .whole(by: LedgerRules.weights), "its share relative to other queues"),
            .must("jobs", counts, ""),
        ])
    )

    static let worker = Schema.named(
        "Worker",
        .object([
            .must("id", .id, ""), .must("name", .text(), ""), .must("host", .text(), ""), .must("build", .text(), ""),
            .may("libraries", .text(), ""), .must("slots", .whole(), ""), .may("busySlots", .whole(), ""),
            .must("jobs", .whole(), "jobs that it holds"),
            .must("abilities", .list(.text()), "what it can do"),
            .must("wish", choice(WorkerWish.self), "what an operator asked of it"),
            .may("pausedBecause", .text(), ""),
            .may("pausedRoots", .list(.text()), "roots whose jobs it leaves to others"),
            .may("sandbox", .text(), "how its rooms are locked"),
            .may("speeds", .list(.anything), "job, speed and remaining seconds of each conversion that was measured"),
            .may("fullFileSystems", .list(.anything), "file systems without space, whose jobs it defers"),
            .may("missingFileSystems", .list(.anything), "file systems that are not mounted, whose jobs it defers"),
            .must("startedAt", .moment, ""), .must("beatAt", .moment, ""), .must("leaseUntil", .moment, ""),
            .may("endedAt", .moment, ""),
            .may("ending", .choice(["stopped", "lost"]), ""),
            .must(
                "state",
                .choice(["works", "partly", "paused", "quiet", "draining", "unheard", "stopped", "lost"]),
                ""
            ),
        ])
    )

    static let status = Schema.named(
        "Status",
        .object([
            .may("context", .text(), ""), .must("ledger", .text(), "where the ledger is"),
            .may("server", .text(), "PostgreSQL's version"), .must("jobs", counts, ""),
            .may("oldestWaiting", .moment, ""), .must("workers", .whole(), "workers that are alive"),
            .must("quietWorkers", .whole(), ""), .must("slots", .whole(), ""), .must("busySlots", .whole(), ""),
            .must("workerStates", .map(.whole()), "how many workers are in each state"),
            .must("completedLately", .whole(), "in the last hour"), .must("audioSecondsLately", .number, ""),
            .may("paceSeconds", .number, "the time that these two cover"),
            .may("keptHouseAt", .moment, "when housekeeping last ran"), .may("quietUntil", .moment, ""),
            .must("time", .moment, "the ledger's time"),
            .must("fullFileSystems", .list(.anything), ""), .must("missingFileSystems", .list(.anything), ""),
            .may(
                "unsentDeliveries",
                .object([
                    .must("count", .whole(), "10,000 at most"), .must("since", .moment, "when the first was due"),
                ]),
                "deliveries to webhooks that are due, while no coordinator sends any"
            ),
            .must("notes", .list(.text()), "what needs an operator's attention"),
        ])
    )

    static let format = Schema.named(
        "Format",
        .object([
            .must("container", .text(), ""), .must("extensions", .list(.text()), ""), .must("codec", .text(), ""),
            .must("read", .truth, ""), .must("write", .truth, ""),
            .must("gapless", .truth, "whether the exact length survives"), .must("lossless", .truth, ""),
        ])
    )

    static let preset = Schema.named(
        "Preset",
        .object([
            .must("preset", .text(), ""), .must("summary", .text(), ""), .must("format", .anything, "as in recipes"),
        ])
    )

    private static let fit = Schema.named(
        "Fit",
        .object([
            .must("fits", .truth, ""), .may("format", .anything, "as in recipes, with every field settled"),
            .may("isLossless", .truth, "whether the codec restores the samples that it gets"),
            .must(
                "losses",
                .list(choice(Remark.Kind.self)),
                "what the output would lack, as the remarks of jobs say it"
            ),
            .must("keptTags", .list(.text()), "the names of the tags that it would have"),
            .must("lostTags", .list(.text()), "the names of those that it cannot store"),
            .may("keepsCover", .truth, "whether it would have the cover; missing: the source has none"),
            .must("reasons", .list(.text()), "why it does not fit"), .must("hints", .list(.text()), "what to do then"),
        ])
    )

    static let presetFit = Schema.named(
        "PresetFit",
        .object([.must("preset", .text(), ""), .must("summary", .text(), ""), .must("fit", fit, "")])
    )

    static let formatFit = Schema.named(
        "FormatFit",
        .object([.must("container", .text(), ""), .must("codec", .text(), ""), .must("fit", fit, "")])
    )

    static let failureCode = Schema.named(
        "FailureCode",
        .object([
            .must("code", .text(), ""), .must("class", choice(Failure.Kind.self), ""),
            .must("stages", .list(choice(Failure.Stage.self)), ""), .must("meaning", .text(), ""),
            .must("cause", .text(), ""), .may("advice", .text(), ""), .must("exitCode", .whole(), "of commands"),
        ])
    )

    static let bulkChange = Schema.named(
        "BulkChange",
        .object([
            .must("number", .id, "its number"),
            .must("change", .choice(["retry", "cancel", "prioritize"]), ""),
            .must("phase", choice(BulkChange.Phase.self), ""),
            .must("expected", .whole(), "how many jobs there were when it began"),
            .must("seen", .whole(), "jobs looked at so far"),
            .must("changed", .whole(), ""),
            .must("askedToStop", .whole(), "running jobs whose workers were asked to stop them"),
            .must("publishing", .whole(), "jobs that are publishing: too late to cancel"),
            .must("undone", .whole(), "how many of the changed jobs were changed back"),
            .may("priority", .whole(), "for prioritize"),
            .may("onDamage", choice(DamageMode.self), ""),
            .may("concealLimit", .whole(), ""),
            .may("error", .text(), "why it failed"),
            .must("submitter", .text(), "whose jobs it changes"),
            .must("token", .text(), "who asked for it"),
            .must("createdAt", .moment, ""),
            .may("endedAt", .moment, ""),
        ])
    )

    static let change = Schema.named(
        "Change",
        .object([
            .must("change", .choice(["retry", "cancel", "prioritize"]), ""),
            .must("jobs", .whole(), "jobs that were selected"),
            .must("isDone", .truth, "false for a preview"),
            .must("changed", .whole(), ""),
            .must("askedToStop", .whole(), "running jobs whose workers were asked to stop them"),
            .must("publishing", .whole(), "jobs that are publishing: too late to cancel"),
            .must("isLowerBound", .truth, "whether a lost answer made the counts too low"),
            .may("onDamage", choice(DamageMode.self), ""),
            .may("concealLimit", .whole(), ""),
            .may("next", .text(), "the value of \"after\" that continues a change with a limit; missing at its end"),
        ])
    )

    static let webhook = Schema.named(
        "Webhook",
        .object([
            .must("id", .id, "its number"), .may("name", .text(), "by which submissions name it"),
            .must("url", .text(), "of webhooks that the caller may only name, the host"),
            .must("events", .list(.text()), ""),
            .may("submitter", .text(), "whose batches; missing: all"), .may("batch", .id, "the only batch"),
            .may("queue", .text(), "the only queue"),
            .must("onNotify", .truth, "whether it is told only about batches whose submissions name it"),
            .must(
                "failurePercent",
                .whole(by: LedgerRules.failurePercents),
                "from which share of failures failures.high is sent"
            ),
            .must("createdAt", .moment, ""), .must("createdBy", .text(), ""),
            .must("failures", .whole(), "requests in a row that it has not taken"),
            .must("skipped", .whole(), "events that it did not get because too many deliveries waited"),
            .must("waiting", .whole(), "deliveries that wait, up to 10,000"),
            .must("dead", .whole(), "deliveries that were given up, up to 10,000"),
            .may("deliveredAt", .moment, "when it last took a request"),
        ])
    )

    static let newWebhook = Schema.named(
        "NewWebhook",
        .object([.must("id", .id, "its number"), .must("secret", .text(), "by which receivers check signatures")])
    )

    static let delivery = Schema.named(
        "Delivery",
        .object([
            .must("id", .id, "its number"), .must("message", .text(), "the webhook-id of its requests"),
            .must("webhook", .id, ""), .must("event", .text(), "its type"),
            .must("state", choice(WebhookDelivery.State.self), ""), .must("attempts", .whole(), ""),
            .must("createdAt", .moment, ""), .may("dueAt", .moment, "of the next attempt"),
            .may("triedAt", .moment, ""), .may("endedAt", .moment, ""), .may("status", .whole(), "of the last answer"),
            .may("error", .text(), "what went wrong"),
        ])
    )

    static let begunDeliveries = Schema.named(
        "BegunDeliveries",
        .object([
            .may("delivery", .id, "of the test"), .may("deliveries", .whole(), "how many will be sent again"),
            .may("next", .text(), "the value of \"after\" for the following page; missing at the end"),
        ])
    )

    static let time = Schema.named("Time", .object([.must("time", .moment, "")]))

    static let count = Schema.named("Count", .object([.must("jobs", .whole(), "how many")]))

    static let tenant = Schema.named(
        "Tenant",
        .object([
            .must("tenant", .text(), "its name"),
            .may("waitingJobs", .whole(), "jobs that may wait or be delayed; what is missing here has no limit"),
            .may("topPriority", .whole(-32_768...32_767), "the highest priority of its batches"),
            .may("maxAttempts", .whole(by: LedgerRules.attempts), "attempts that its jobs may ask for"),
            .may("reads", .list(.text()), "what the locations of its sources begin with"),
            .may("writes", .list(.text()), "what the locations of its outputs and uploads begin with"),
            .may("uploadBytes", .whole(), "bytes that it may upload in 24 hours"),
            .may("cpuMinutes", .whole(), "processor time that its conversions may use in 24 hours"),
            .may("outputBytes", .whole(), "bytes of outputs that may be published for it in 24 hours"),
            .may("destination", .text(), "the template of its destinations: a job without an output gets one by it"),
            .may(
                "jobLimits",
                .object([
                    .may("wallSeconds", .whole(), ""), .may("cpuSeconds", .whole(), ""),
                    .may("outputBytes", .whole(), ""), .may("decodedSeconds", .whole(), ""),
                ]),
                "the highest limits of its recipes; they also hold for recipes without limits"
            ),
            .may("maxOutputs", .whole(), "the highest number of outputs of a job"),
            .must("cpuSecondsUsed", .number, "in the last 24 hours"),
            .must("outputBytesUsed", .whole(), "in the last 24 hours"),
            .may("heldFor", choice(TenantHold.Allowance.self), "the limit that is used up; its jobs wait"),
            .may("heldUntil", .moment, "when its jobs go on, unless those that run use more"),
        ])
    )

    static let hold = Schema.named(
        "Hold",
        .object([
            .must("tenant", .text(), ""),
            .must("heldFor", choice(TenantHold.Allowance.self), "the limit that is used up"),
            .must("heldUntil", .moment, "when its jobs go on, unless those that run use more"),
        ])
    )

    static let unable = Schema.named(
        "UnableJobs",
        .object([
            .must("queue", .text(), ""), .must("priority", .whole(by: LedgerRules.priorities), ""),
            .must("needs", .list(.text()), "what a worker must be able to do"),
            .must("missing", .list(.text()), "needs that no running worker has; empty if no worker has all of them"),
            .must("example", .id, "one of the jobs"),
        ])
    )

    static let chore = Schema.named(
        "Chore",
        .object([.must("chore", .text(), ""), .may("error", .text(), "why it failed last")])
    )

    static let throughput = Schema.named(
        "Throughput",
        .object([
            .must("minute", .moment, ""), .must("queue", .text(), ""), .must("completed", .whole(), "jobs"),
            .must("failed", .whole(), "jobs"), .must("cancelled", .whole(), "jobs"),
            .must("audioSeconds", .number, "of the completed jobs"),
            .must("began", .moment, "when the first of their attempts began"),
        ])
    )

    /// A page of a list.
    static func page(_ name: String, _ item: Schema) -> Schema {
        .object([
            .must(name, .list(item), ""),
            .may("next", .text(), "the value of \"after\" for the next page; missing on the last"),
        ])
    }

    static func all(_ name: String, _ item: Schema) -> Schema { .object([.must(name, .list(item), "")]) }
}
