import ObjectStorage

extension ObjectReader {
    /// Up to `count` bytes from `offset` on, as one call gives them.
    func bytes(at offset: Int64, _ count: Int) throws -> [UInt8] {
        var room = [UInt8](repeating: 0, count: count)
        let result: Result<Int, StoreError> = room.withUnsafeMutableBytes { room in
            do throws(StoreError) {
                return .success(try read(at: offset, into: room))
            } catch { return .failure(error) }
        }
        return Array(room.prefix(try result.get()))
    }

    /// All bytes, with calls for `piece` bytes each.
    func allBytes(piece: Int = 100_000) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let more = try self.bytes(at: Int64(bytes.count), piece)
            if more.isEmpty { return bytes }
            bytes += more
        }
    }
}
