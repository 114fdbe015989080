extension World {
    enum Naming: Sendable {
        case named
        /// The file can never get its name. The caller must report that.
        case failed(Reason)
        /// Left for another try, by the process that the ledger hands it to.
        case left
    }

    /// Step 5 of publishing, by the process that has the publication.
    mutating func name(_ order: Order, by who: String) -> Naming {
        if isDiskBad {
            isDiskBad = false
            // Another attempt follows a reported failure, so no process may be able to rename this file later.
            let isGone = !guards.stand(.spoiledBeforeFailed) || folder.remove(order.key)
            tell { _ in "\(who): the disk refuses \(order.fence.words)\(isGone ? "" : ", and its file is gone already")"
            }
            guard isGone else { return .left }
            spoiled.append(order.fence)
            return .failed(Reason(failureClass: .transient, code: .destinationIO, isGenuine: true))
        }
        let request = scenario.requests[order.request]
        let result = folder.name(order, at: request.place, request.policy, under: guards)
        if !namings.contains(result) { namings.append(result) }
        tell { _ in "\(who): names the output of \(order.fence.words): \(result)" }
        let present = folder.final(request.place)?.content.request
        // Two jobs for one destination are the submitter's choice.
        let isElses = present != nil && present != order.request
        switch result {
        case .named:
            if !committed.contains(order.key) { broke(.publishedWithoutRight) }
            show(order.request)
            return .named
        case .adopted:
            return .named
        case .destinationExists:
            let isGenuine = isElses || hasLostOrder(order.request)
            return .failed(Reason(failureClass: .permanent, code: .destinationExists, isGenuine: isGenuine))
        case .attemptLost:
            let isKnown = spoiled.contains(order.fence) || lostEnds.contains(order.fence)
            let isGenuine = isElses || isKnown || hasLostOrder(order.request)
            return .failed(Reason(failureClass: .transient, code: .attemptLost, isGenuine: isGenuine))
        }
    }

    /// The storage carries out a rename that a process requested long ago. No process sees the result.
    mutating func nameLate(dice: UInt64) -> Bool {
        guard !lateNames.isEmpty else { return false }
        let order = lateNames.remove(at: Int(dice % UInt64(lateNames.count)))
        let request = scenario.requests[order.request]
        let isNamed = folder.rename(order, at: request.place, request.policy)
        tell { _ in "the storage renames \(order.fence.words) late\(isNamed ? "" : ": nothing to rename")" }
        guard isNamed else { return true }
        if !committed.contains(order.key) { broke(.publishedWithoutRight) }
        show(order.request)
        return true
    }

    /// Records the content under a request's final name.
    private mutating func show(_ request: Int) {
        guard let content = folder.final(scenario.requests[request].place)?.content else { return }
        if let earlier = shown[request], earlier != content, !hasLostOrder(request) { broke(.publishedTwice) }
        // Of two jobs for one destination, each may have to run again after the other replaced its file.
        for other in shown.indices where scenario.requests[other].place == scenario.requests[request].place {
            shown[other] = nil
        }
        shown[request] = content
    }

    /// Whether a failover lost a publication of this request, possibly after its worker had received the answer.
    func hasLostOrder(_ request: Int) -> Bool {
        for order in lostOrders where order.request == request { return true }
        return false
    }
}
