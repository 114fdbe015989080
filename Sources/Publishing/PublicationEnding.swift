public import Conversion
public import Ledger
public import Storage

/// What became of an order.
public enum PublicationEnding: Sendable, Hashable {
    /// The output has its name, or was to be skipped, and the job is completed.
    case finished(PublishOutcome)
    /// Another process has finished it, or the job has ended.
    case overtaken
    /// It cannot be carried out, its file is gone, and the ledger knows.
    case failed(Failure)
    /// Another try may mend it: the file stays, and the ledger hands the order out again.
    case postponed(Failure)
}

/// A publication that its worker left unfinished, and what became of it.
public struct TakenPublication: Sendable, Hashable {
    public var row: UnfinishedPublication
    public var ending: PublicationEnding
}
