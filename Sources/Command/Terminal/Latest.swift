import Synchronization

/// The latest value that one thread produced, for another thread that shows it.
final class Latest<Value: Sendable>: Sendable {
    private let box: Mutex<Value>

    init(_ value: Value) { box = Mutex(value) }

    var value: Value {
        get { box.withLock { $0 } }
        set { box.withLock { $0 = newValue } }
    }

    /// Changes the value under the lock and returns the new one.
    func change(_ body: (inout Value) -> Void) -> Value {
        box.withLock { value in
            body(&value)
            return value
        }
    }
}
