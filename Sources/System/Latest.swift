import Synchronization

/// The latest value that one thread produced, for another thread that shows it.
package final class Latest<Value: Sendable>: Sendable {
    private let box: Mutex<Value>

    package init(_ value: Value) { box = Mutex(value) }

    package var value: Value {
        get { box.withLock { $0 } }
        set { box.withLock { $0 = newValue } }
    }

    /// Changes the value under the lock and returns the new one.
    package func change(_ body: (inout Value) -> Void) -> Value {
        box.withLock { value in
            body(&value)
            return value
        }
    }
}
