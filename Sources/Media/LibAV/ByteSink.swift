import CLibAV
import Conversion
import Glibc
import System

/// Writes libav's output to one open descriptor. A muxer has no other output.
///
/// The caller owns the descriptor and keeps it open for as long as the sink lives. A file is written with `pwrite`
/// at offsets that the sink tracks; a stream is written in order.
final class ByteSink {
    let descriptor: Int32
    private let isStream: Bool
    private(set) var context: UnsafeMutablePointer<AVIOContext>?
    private var offset: Int64 = 0
    /// Bytes from the start to the end of the furthest write.
    private(set) var size: Int64 = 0
    /// The errno of the first write that failed; the output is lost from then on.
    private(set) var failure: Int32?

    private static let bufferBytes = 64 * 1024

    /// With `isStream`, the descriptor may be a pipe: bytes are written in order and never revisited.
    init(descriptor: Int32, isStream: Bool = false) throws {
        if !isStream { try ByteSink.requireFile(descriptor) }
        self.descriptor = descriptor
        self.isStream = isStream
        let buffer = av_malloc(Self.bufferBytes)
        guard let buffer else { throw MediaError(.outOfMemory, at: .open, "no memory for the output's buffer") }
        context = avio_alloc_context(
            buffer.assumingMemoryBound(to: UInt8.self),
            Int32(Self.bufferBytes),
            1,
            Unmanaged.passUnretained(self).toOpaque(),
            nil,
            { opaque, bytes, count in
                Unmanaged<ByteSink>.fromOpaque(opaque!).takeUnretainedValue().write(bytes!, count: Int(count))
            },
            isStream
                ? nil
                : { opaque, target, whence in
                    Unmanaged<ByteSink>.fromOpaque(opaque!).takeUnretainedValue().seek(to: target, whence: whence)
                }
        )
        guard let context else {
            av_free(buffer)
            throw MediaError(.outOfMemory, at: .open, "no memory for the output's buffer")
        }
        context.pointee.seekable = isStream ? 0 : AVIO_SEEKABLE_NORMAL
        // Without this, libav calls `write` for every packet.
        context.pointee.min_packet_size = Int32(Self.bufferBytes)
    }

    private static func requireFile(_ descriptor: Int32) throws {
        var status = stat()
        guard sluice_fstat(descriptor, &status) == 0 else {
            throw MediaError(.destinationIO, at: .open, "the output's descriptor is not usable: \(systemText(errno))")
        }
        guard lseek(descriptor, 0, SEEK_CUR) >= 0, status.st_mode & S_IFMT == S_IFREG else {
            throw MediaError(.destinationNotSeekable, at: .open, "the output is not a regular file")
        }
        let flags = fcntl(descriptor, F_GETFL)
        // The header is completed at the end from the data written, so the file must be
        // readable and writable at any offset.
        guard flags >= 0, flags & O_ACCMODE == O_RDWR, flags & O_APPEND == 0 else {
            throw MediaError(
                .destinationIO,
                at: .open,
                "the output must be open for reading and writing, without O_APPEND"
            )
        }
    }

    deinit {
        if let context { av_free(context.pointee.buffer) }
        avio_context_free(&context)
    }

    private func write(_ bytes: UnsafePointer<UInt8>, count: Int) -> Int32 {
        if let failure { return -failure }
        var written = 0
        while written < count {
            let put =
                isStream
                ? Glibc.write(descriptor, bytes + written, count - written)
                : pwrite(descriptor, bytes + written, count - written, off_t(offset))
            if put > 0 {
                written += put
                offset += Int64(put)
                size = max(size, offset)
            } else if put < 0, errno == EAGAIN {
                // The descriptor may be non-blocking: wait until the reader has made space.
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&waiting, 1, -1)
            } else if errno != EINTR {
                failure = put == 0 ? EIO : errno
                return -failure!
            }
        }
        return Int32(count)
    }

    private func seek(to target: Int64, whence: Int32) -> Int64 {
        switch whence & ~AVSEEK_FORCE {
        case AVSEEK_SIZE: return size
        case SEEK_SET: offset = target
        case SEEK_CUR: offset += target
        case SEEK_END: offset = size + target
        default: return -Int64(EINVAL)
        }
        return offset
    }

    // MARK: For outputs that libav does not write by itself

    /// Appends bytes at the current position, through libav's buffer.
    func append(_ bytes: UnsafeRawBufferPointer) throws {
        avio_write(context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(bytes.count))
        if let failure { throw LibAVError("pwrite", -failure) }
    }

    func append(_ bytes: [UInt8]) throws { try bytes.withUnsafeBytes { try append($0) } }

    /// The offset of the next appended byte.
    var position: Int64 { avio_seek(context, 0, SEEK_CUR) }

    /// Writes libav's buffer to the descriptor, so that the bytes can be read back.
    func flush() throws {
        avio_flush(context)
        if let failure { throw LibAVError("pwrite", -failure) }
    }

    /// Truncates the file to `size`, so that bytes from before the output was written do not remain after its end.
    func cutAtEnd() throws {
        if isStream { return }
        var status = stat()
        guard sluice_fstat(descriptor, &status) == 0, status.st_size <= size || ftruncate(descriptor, off_t(size)) == 0
        else {
            throw MediaError(
                .destinationIO,
                at: .finish,
                "the output cannot be truncated to its length: \(systemText(errno))"
            )
        }
    }

    // MARK: For the few headers that libav leaves wrong

    /// Reads back bytes that have been written and flushed; fewer than `count` at the end of the file.
    func bytes(at place: Int64, count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let got = pread(descriptor, &bytes, count, off_t(place))
        guard got >= 0 else {
            throw MediaError(.destinationIO, at: .finish, "the output cannot be read back: \(systemText(errno))")
        }
        return Array(bytes.prefix(got))
    }

    /// Overwrites or extends bytes that have been written and flushed. The append position stays the same.
    func patch(_ bytes: [UInt8], at place: Int64) throws {
        let next = offset
        defer { offset = next }
        offset = place
        let result = bytes.withUnsafeBufferPointer { write($0.baseAddress!, count: $0.count) }
        if result < 0 { throw LibAVError("pwrite", result) }
    }
}
