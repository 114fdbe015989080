import API
import Console

extension WorkerState {
    var ink: Ink {
        switch self {
        case .works: .good
        case .partly, .paused, .quiet, .draining: .careful
        case .unheard, .lost: .bad
        case .stopped: .faint
        }
    }
}
