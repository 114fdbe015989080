package import Conversion
import FoundationEssentials

// Initializers for those who learn of the ledger in another way than by rows of the database. They take what is always
// known; the rest is set afterwards.

extension JobRemarks {
    package init(damage: DamageReport, remarks: [Remark]) { (self.damage, self.remarks) = (damage, remarks) }
}

extension JobPage {
    package init(of jobs: [JobSummary], next: JobCursor?) { (self.jobs, self.next) = (jobs, next) }
}

extension SubmissionReceipt {
    /// The receipt of a batch that stands already.
    package init(standing batch: Int64, firstJob: Int64, lastJob: Int64, jobCount: Int) {
        self.init(
            batch: batch,
            firstJob: firstJob,
            lastJob: lastJob,
            jobCount: jobCount,
            isRepetition: true,
            isSameRequest: true
        )
    }
}

extension ChoreRecord {
    package init(name: String, error: String?) {
        self.name = name
        self.error = error
        (dueAt, startedAt, finishedAt, pages, affected) = (nil, nil, nil, 0, 0)
        (took, remaining, failedAt) = (nil, nil, nil)
    }
}
