import Conversion

extension Failure {
    /// A failure of a room, at the last position that it reported.
    init(_ code: FailureCode, _ message: String, after last: ConversionProgress?, hint: String? = nil) {
        self.init(
            code,
            // Before the first frame, the room opens and probes the source. The slot cannot tell the later stages apart.
            at: last == nil ? .open : .decode,
            message,
            position: last?.position,
            frame: last?.frames,
            hint: hint
        )
    }
}
