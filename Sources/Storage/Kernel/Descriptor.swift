import Glibc

/// An open descriptor, closed when the value is dropped.
struct Descriptor: ~Copyable {
    let number: Int32

    /// Takes `number` over; no other code may close it.
    init(adopting number: Int32) { self.number = number }

    deinit { close(number) }

    /// Gives the descriptor away: who takes it closes it.
    consuming func release() -> Int32 {
        let released = number
        discard self
        return released
    }
}
