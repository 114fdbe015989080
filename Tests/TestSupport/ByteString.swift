/// Bytes that are compared often: this module compares them with optimisation.
public struct ByteString: Sendable, Equatable {
    private var bytes: [UInt8] = []

    /// No bytes.
    public init() {}

    /// A copy of `bytes`.
    public init(_ bytes: UnsafeRawBufferPointer) { append(bytes) }

    /// The number of bytes.
    public var count: Int { bytes.count }

    /// Appends a copy of `bytes`.
    public mutating func append(_ bytes: UnsafeRawBufferPointer) { self.bytes.append(contentsOf: bytes) }

    /// Appends a number as eight bytes, the least significant first.
    public mutating func append(_ number: Int64) { bytes.append(little: number) }
}
