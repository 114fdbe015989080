import CLibPQ
import Conversion

extension Connection {
    /// What the server stores of a password (SCRAM): the password itself is not sent, and no log shows it.
    func verifier(of password: String, for login: String) throws -> String {
        let link = try begin(changes: false)
        guard let made = PQencryptPasswordConn(link.pointer, password, login, "scram-sha-256") else {
            throw failure(.ledgerUnexpectedAnswer, "cannot prepare the password: \(link.message)")
        }
        defer { PQfreemem(made) }
        return String(cString: made)
    }
}
