import Console
import LocalCluster

extension ClusterError {
    var exitCode: ExitCode {
        switch code {
        case .configuration: .configuration
        case .permission: .permission
        case .unreachable: .unreachable
        case .failure: .failure
        }
    }

    func show(on console: CommandOutput) { console.complain(message, details: details, hint: hint) }
}
