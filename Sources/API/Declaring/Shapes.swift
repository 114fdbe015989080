import Conversion
import Ledger

/// The names under which the description of the API shows the shapes of answers. What is in them, the records declare.
///
/// A test checks live answers against them.
enum Shapes {
    static let job = Schema.record("Job", JobSummary.self)
    static let story = Schema.record("JobStory", JobStory.self)
    static let batch = Schema.record("Batch", BatchSummary.self)
    static let receipt = Schema.record("Receipt", SubmissionReceipt.self)
    static let failureGroup = Schema.record("FailureGroup", FailureGroup.self)
    static let failureHour = Schema.record("FailureHour", FailureHour.self)
    static let queue = Schema.record("Queue", QueueSummary.self)
    static let worker = Schema.record("Worker", WorkerRecord.self)
    static let status = Schema.record("Status", StatusFacts.self)
    static let hold = Schema.record("Hold", TenantHold.self)
    static let tenant = Schema.record("Tenant", Tenant.self)
    static let unable = Schema.record("UnableJobs", UnableLane.self)
    static let chore = Schema.record("Chore", ChoreRecord.self)
    static let throughput = Schema.record("Throughput", MinuteThroughput.self)
    static let earlier = Schema.record("EarlierJob", EarlierJob.self)
    static let output = Schema.record("Output", RecordedOutput.self)
    static let maker = Schema.record("OutputMaker", OutputMaker.self)
    static let earlierScan = Schema.record("EarlierScan", EarlierScan.self)
    static let change = Schema.record("Change", ChangeRecord.self)
    static let bulkChange = Schema.record("BulkChange", BulkChange.self)
    static let webhook = Schema.record("Webhook", Webhook.self)
    static let createdWebhook = Schema.record("CreatedWebhook", CreatedWebhook.self)
    static let delivery = Schema.record("Delivery", WebhookDelivery.self)
    static let begunDeliveries = Schema.record("BegunDeliveries", BegunDeliveries.self)
    static let format = Schema.record("Format", FormatRecord.self)
    static let preset = Schema.record("Preset", NamedPreset.self)
    static let savedFilter = Schema.record("SavedFilter", SavedFilter.self)
    static let token = Schema.record("Token", TokenRecord.self)
    static let administeredTenant = Schema.record("AdministeredTenant", AdministeredTenant.self)
    static let auditRecord = Schema.record("AuditRecord", AuditRecord.self)
    static let compatibility = Schema.record("Compatibility", CompatibilityRecord.self)
    static let failureCode = Schema.record("FailureCode", FailureCodeRecord.self)
    static let time = Schema.record("Time", TimeRecord.self)
    static let count = Schema.record("Count", CountRecord.self)
    static let fileOffer = Schema.record("FileOffer", FileOffer.self)
    static let upload = Schema.record("Upload", UploadedFile.self)
    static let places = Schema.record("Places", PlaceList.self)

    /// A page of a list.
    static func page(_ name: String, _ item: Schema) -> Schema {
        .object([
            .must(name, .list(item), "the items of this page"),
            .may("next", .text(), "the value of \"after\" for the next page; missing on the last"),
        ])
    }

    static func all(_ name: String, _ item: Schema) -> Schema { .object([.must(name, .list(item), "all items")]) }
}
