import CSystem
import Glibc

/// A thread for work that blocks.
package struct SystemThread: Sendable {
    private let handle: pthread_t

    /// Runs `body` on a new, detached thread. The system keeps the first fifteen letters of `name`.
    package static func detach(_ name: String, _ body: @escaping @Sendable () -> Void) {
        _ = start(name, stackBytes: nil, isJoined: false, body)
    }

    /// Runs `body` on a new thread, which must be joined once.
    package init(_ name: String, stackBytes: Int, _ body: @escaping @Sendable () -> Void) {
        handle = Self.start(name, stackBytes: stackBytes, isJoined: true, body)
    }

    /// Waits for the end of the thread.
    package func join() { pthread_join(handle, nil) }

    /// Sends a signal to the thread.
    package func signal(_ number: Int32) { pthread_kill(handle, number) }

    /// Names the calling thread. Lists of processes show the name of the first one.
    package static func nameCurrent(_ name: String) { _ = sluice_name_thread(name) }

    /// Carries the closure into the new thread.
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    private static func start(
        _ name: String,
        stackBytes: Int?,
        isJoined: Bool,
        _ body: @escaping @Sendable () -> Void
    ) -> pthread_t {
        var (thread, attributes) = (pthread_t(), pthread_attr_t())
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        if let stackBytes { pthread_attr_setstacksize(&attributes, stackBytes) }
        if !isJoined { pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED)) }
        let named: @Sendable () -> Void = {
            _ = sluice_name_thread(name)
            body()
        }
        let error = pthread_create(
            &thread,
            &attributes,
            { body in
                Unmanaged<Body>.fromOpaque(body!).takeRetainedValue().run()
                return nil
            },
            Unmanaged.passRetained(Body(named)).toOpaque()
        )
        // The program starts its few threads when it starts. Without any of them it could not work.
        precondition(error == 0, "cannot start the thread \(name): \(systemText(error))")
        return thread
    }
}
