import Console
import Conversion
import Face
import Ledger

/// The options of the coordinator's HTTP face.
enum FaceOptions {
    private static let listen = Option<String>(
        "listen",
        .text.named("ADDRESS"),
        "serve the HTTP API at a port, an address and port, a socket's path, or systemd",
        isRepeatable: true,
        in: .work
    )
    private static let openRole = Option<AccessRole>(
        "open-role",
        .role,
        "serve requests without a token in this role; only on this machine",
        in: .work
    )
    private static let insecure = Switch(
        "insecure-http",
        "listen where other machines can connect, though tokens then pass in clear text",
        in: .work
    )

    static let forms = [listen.form, openRole.form, insecure.form]

    /// Listens where --listen says; `nil` without it. `complain` gets what goes wrong later.
    static func open(_ invocation: Invocation, complain: @escaping @Sendable (Failure) -> Void) throws -> Face? {
        let addresses = invocation.all(listen)
        guard !addresses.isEmpty else {
            guard invocation[openRole] == nil else {
                throw UsageError("--open-role needs --listen", hint: "as in --listen 8080")
            }
            return nil
        }
        var configuration = Face.Configuration(addresses: addresses)
        configuration.openRole = invocation[openRole]
        configuration.allowsInsecure = invocation[insecure]
        configuration.version = Version.number
        configuration.libavcodec = Version.codecLibrary
        do {
            return try Face(
                LedgerOptions.configuration(invocation),
                configuration,
                environment: invocation.environment,
                complain: complain
            )
        } catch let error as ListenError {
            throw Refusal(message: error.description.printable, exitCode: .configuration)
        }
    }
}

extension ValueType where Value == AccessRole {
    static let role = ValueType(
        placeholder: "ROLE",
        completion: .words(AccessRole.allCases.map { .init(word: $0.rawValue, summary: "") })
    ) { text throws(Misfit) in
        guard let role = AccessRole(rawValue: text) else {
            throw Misfit(why: "must be viewer, submitter or operator")
        }
        return role
    }
}
