import AllocationCounter
import Conversion
import Glibc
import Media

/// Converts a source in the format of a preset, and prints how many heap allocations Swift code made while the pump
/// ran, and how many blocks the pump moved.
enum PumpAllocations {
    static func run(_ words: [String]) throws {
        guard words.count == 4 else {
            print("usage: media-program allocations SOURCE DESTINATION PRESET EXTENSION")
            exit(64)
        }
        let source = open(words[0], O_RDONLY)
        let destination = open(words[1], O_RDWR | O_CREAT | O_TRUNC, 0o600)

        let reader = try Reader(descriptor: source)
        let track = try reader.track()
        let format = try Preset.named(words[2]).format(forExtension: words[3]).resolved(for: track.shape)
        let writer = try Writer(descriptor: destination, format: format)
        let (output, input) = (try reader.samples(of: track), try writer.samples())

        var block = try SampleBlock()
        var blocks = 0
        // The first blocks open the encoder and allocate buffers. Only the steady state is counted.
        while blocks < 16, try output.next(into: &block) {
            try input.append(&block)
            blocks += 1
        }
        allocation_counter_start()
        while try output.next(into: &block) {
            try input.append(&block)
            blocks += 1
        }
        let allocations = allocation_counter_stop()
        _ = try writer.finish()

        // The control: a broken counter would report zero as well, so it must see this allocation.
        allocation_counter_start()
        let control = allocated()
        let seen = allocation_counter_stop()
        control.deallocate()
        print("\(allocations) allocations in \(blocks - 16) blocks, control \(seen)")
    }

    /// Not inlined, so that the optimiser cannot remove an unused allocation.
    @inline(never)
    private static func allocated() -> UnsafeMutablePointer<Int> { .allocate(capacity: 1_000) }
}
