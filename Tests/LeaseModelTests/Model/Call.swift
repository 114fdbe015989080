/// A function of the ledger, called over a connection that may lose the question, the answer, or only the caller.
struct Call: Sendable {
    enum Operation: Sendable {
        case submit(Int)
        case register
        case claim(WorkerName, wanted: Int)
        /// After it has given up its claims up to that call, if one was not answered.
        case held(WorkerName, barring: Int?)
        case beat(WorkerName, [Fence])
        case stop(WorkerName)
        case publish(Order)
        case finish(Fence)
        case fail(Fence, Reason)
        case release(Fence)
    }

    enum Answer: Sendable {
        case none
        case registered(WorkerName)
        /// The lease of the worker is over.
        case refused
        case fences([Fence])
        case beat(lost: [Fence], cancelled: [Fence])
        case said(FenceAnswer)
        /// Nobody knows whether it was done.
        case unknown
    }

    let id: Int
    /// The worker process that asks, by the number that no other process has; `nil` for a submitter.
    let process: Int?
    let operation: Operation
    var answer: Answer?
    /// Whether somebody waits for the answer. A call whose connection broke may be carried out all the same.
    var isAwaited = true
}
