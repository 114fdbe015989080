public import Conversion
public import Ledger
public import Storage

/// The result of carrying out an order.
public enum PublicationEnding: Sendable, Hashable {
    /// The output has its name or was skipped, and the job is completed.
    case finished(PublishOutcome)
    /// Another process has finished the order, or the job has ended.
    case overtaken
    /// The order cannot be carried out. Its file is removed, and the ledger has recorded the failure.
    case failed(Failure)
    /// A retry may succeed: the file stays, and the ledger hands the order out again.
    case postponed(Failure)
}

/// A publication that its worker left unfinished, with the result.
public struct TakenPublication: Sendable, Hashable {
    public var row: UnfinishedPublication
    public var ending: PublicationEnding
}
