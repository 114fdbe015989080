/// A call of a ledger function over a connection that may lose the request, the answer, or only the caller.
struct Call: Sendable {
    enum Operation: Sendable {
        case submit(Int)
        case register
        case claim(WorkerName, wanted: Int)
        /// With `barring`, first bars the worker's claims up to that call, because one was not answered.
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
        /// The worker's lease is over.
        case refused
        case fences([Fence])
        case beat(lost: [Fence], cancelled: [Fence])
        case said(FenceAnswer)
        /// The caller cannot know whether the call took effect.
        case unknown
    }

    let id: Int
    /// The number of the calling worker process, which no other process has; `nil` for a submitter.
    let process: Int?
    let operation: Operation
    var answer: Answer?
    /// Whether the caller still waits for the answer. A call whose connection broke may take effect all the same.
    var isAwaited = true
}
