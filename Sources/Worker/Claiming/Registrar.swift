import Conversion
import Ledger
import PumpRoom
import System
import WorkerRules

/// Registers the worker again after its lease was lost.
///
/// The ledger may have been migrated meanwhile. If this binary cannot work with it any more, the worker stops.
struct Registrar: Sendable {
    let abilities: Channel<[String]>
    let calls: LedgerCalls
    let dispatcher: Dispatcher
    let configuration: WorkerConfiguration
    let migrator: Migrator
    /// Takes the error with which the worker stops.
    let refuse: @Sendable (LedgerError) -> Void

    func run() async {
        while let abilities = await abilities.take(upTo: 1)?.first {
            while !dispatcher.isStopping, !Task.isCancelled {
                let registration = configuration.registration(abilities)
                let entry = await calls.ask(while: { !dispatcher.isStopping }) {
                    do {
                        try await migrator.check()
                    } catch let error as LedgerError where error.code == .ledgerSchemaTooNew {
                        refuse(error)
                        throw error
                    }
                    return try await calls.ledger.register(registration)
                }
                if let entry {
                    dispatcher.report(.registered(entry, abilities: abilities))
                    break
                }
                // The error has been reported. If the task was cancelled, the loop notices.
                try? await Task.sleep(for: .seconds(1))
            }
        }
    }
}

extension WorkerConfiguration {
    func registration(_ abilities: [String]) -> WorkerRegistration {
        WorkerRegistration(
            name: name,
            host: Self.hostName,
            build: build,
            libraries: libraries?.description ?? "",
            slots: Int32(clamping: slots),
            abilities: abilities
        )
    }
}
