/// Where a container whose length libav only reckons says that it ends.
enum DeclaredEnd {
    /// Whether an AVI ends before its first list does. A size that was never written tells nothing.
    static func isCutAVI(_ source: ByteSource) -> Bool {
        guard let size = source.size, let head = source.bytes(at: 0, count: 12), head.count == 12 else { return false }
        let stated = bigEndian(head[4..<8].reversed())
        // Some writers leave out the byte that makes the last chunk even.
        return !StreamedHeader.isPlaceholder(stated) && stated + 8 > size + 1
    }
}
