import Synchronization

/// A source whose bytes another process fetches. A descriptor stands for it wherever a source is named.
package protocol SourceWindow: AnyObject, Sendable {
    /// The length of the source.
    var byteCount: Int64 { get }

    /// Fills `buffer` from `offset` on. Waits for the bytes, and gives up when `stop` is raised.
    ///
    /// Returns their number, which is zero at the end of the source, or a negative errno.
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer, stop: StopSignal) -> Int
}

/// The windows of this process, by the descriptors that stand for them.
package enum SourceWindows {
    private static let windows = Mutex<[Int32: any SourceWindow]>([:])

    /// From now on `descriptor` stands for `window`, or for the file that it is if that is `nil`. Call it while the
    /// descriptor is open: its number may be given out again afterwards.
    package static func set(_ window: (any SourceWindow)?, for descriptor: Int32) {
        windows.withLock { $0[descriptor] = window }
    }

    /// The window that `descriptor` stands for; `nil` if it is the source itself.
    static func of(_ descriptor: Int32) -> (any SourceWindow)? { windows.withLock { $0[descriptor] } }
}
