import Conversion
import Ledger
import LedgerClient
import System

/// Has a coordinator compare outputs under roots that are not on this machine.
struct RemoteOutputCheck: Sendable {
    let coordinator: CoordinatorPlace

    /// The most that a coordinator compares at a time for one caller.
    private static let mostWidth = 64

    /// What the coordinator says of each of these files, in their order. Those of roots that it does not serve stay unseen, and
    /// those for which it has no time. Calls `report` after each answer.
    func look(
        at places: [OutputCheck.RecordedPlace],
        width: Int = ParallelTransfers.width,
        report: @escaping @Sendable () -> Void = {}
    ) async throws -> [OutputReading.Look] {
        let found = Latest([OutputReading.Look](repeating: .unseen, count: places.count))
        let (answered, isOverloaded) = (Latest(0), Latest(false))
        let most = min(width, Self.mostWidth)
        try await ParallelTransfers(place: coordinator).run(places.count, width: most) { index, ledger in
            let place = places[index]
            do {
                let answer: OutputReading.Look
                if isOverloaded.value {
                    answer = try await look(at: place, over: ledger)
                } else {
                    // It compares few large files at a time: while others end, this one waits for its turn.
                    answer = try await ParallelTransfers.repeating(progress: { Int64(answered.value) }) {
                        try await look(at: place, over: ledger)
                    }
                }
                _ = found.change { $0[index] = answer }
                _ = answered.add(1)
                isOverloaded.value = false
            } catch let error as LedgerError where error.code == .ledgerExhausted {
                // Then the others do not wait as long.
                isOverloaded.value = true
            }
            report()
        }
        return found.value
    }

    private func look(at place: OutputCheck.RecordedPlace, over ledger: RemoteLedger) async throws -> OutputReading.Look
    {
        // `try?`: a recipe of a later version says where its outputs are in words that this build does not know.
        guard let story = try await ledger.story(of: place.job), let recipe = try? Recipe(json: story.recipe),
            let output = recipe.outputs.firstIndex(where: { $0.location.utf8.elementsEqual(place.destination.utf8) })
        else { return .unseen }
        do {
            try await ledger.compareOutput(output + 1, of: place.job, bytes: place.bytes, digest: place.digest)
            return .fine
        } catch let refusal as FileRefusal {
            switch refusal.code {
            case .outputGone: return .damaged(.missing, detail: nil)
            case .outputChanged: return .damaged(.digest, detail: nil)
            case .unreadable: return .damaged(.unreadable, detail: refusal.message)
            case .notServed, .badPath, .noOutput, .wrongDigest, .tooLarge, .exists, .noSpace, .badRange: return .unseen
            }
        }
    }
}
