import Conversion
import Ledger
import LedgerClient
import System

/// Has a coordinator compare outputs under roots that are not on this machine.
struct RemoteOutputCheck: Sendable {
    let coordinator: CoordinatorPlace

    /// What the coordinator says of each of these files, in their order. Those of roots that it does not serve stay unseen.
    func look(at places: [OutputCheck.RecordedPlace], on ledger: any CommandLedger) async throws -> [OutputReading.Look]
    {
        let found = Latest([OutputReading.Look](repeating: .unseen, count: places.count))
        try await TransferLanes(place: coordinator).run(places.count) { index, lane in
            let look = try await TransferLanes.repeating(progress: { 0 }) {
                try await look(at: places[index], over: lane)
            }
            _ = found.change { $0[index] = look }
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
