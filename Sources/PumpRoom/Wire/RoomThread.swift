import Glibc

/// Starts threads for work that blocks.
enum RoomThread {
    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `body` on a new detached thread called `name`; the system keeps the first fifteen letters.
    static func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        var (thread, attributes) = (pthread_t(), pthread_attr_t())
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let named: @Sendable () -> Void = {
            // PR_SET_NAME.
            _ = name.utf8CString.withUnsafeBufferPointer { name in
                GNUFunctions.processControl(15, UInt(bitPattern: name.baseAddress), 0, 0, 0)
            }
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
        pthread_attr_destroy(&attributes)
        // A slot starts its thread with the worker, and a room with its first job: without it neither could work.
        precondition(error == 0, "cannot start a thread: \(systemText(error))")
    }
}
