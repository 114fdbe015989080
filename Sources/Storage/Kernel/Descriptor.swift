import Glibc

/// An open descriptor, closed when the value is dropped.
struct Descriptor: ~Copyable {
    let number: Int32

    /// Takes ownership of `number`; no other code may close it.
    init(adopting number: Int32) { self.number = number }

    deinit { close(number) }

    /// Releases ownership: the caller must close the descriptor.
    consuming func release() -> Int32 {
        let released = number
        discard self
        return released
    }
}
