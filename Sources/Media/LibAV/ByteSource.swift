import CLibAV
import Conversion
import Glibc
import System

/// Gives libav the bytes of one open descriptor. A demuxer has no other input.
///
/// The caller owns the descriptor and keeps it open for as long as the source lives. A regular file is read with
/// `pread` at offsets that the source tracks, so its file position does not change. Anything else is read in order;
/// raising `stop` ends a wait for data.
final class ByteSource {
    let descriptor: Int32
    let isSeekable: Bool
    let stop: StopSignal
    /// Bytes of a regular file; `nil` for a pipe.
    let size: Int64?
    private(set) var context: UnsafeMutablePointer<AVIOContext>?
    private var offset: Int64 = 0
    /// The most bytes that libav may read while it opens a container: the format shows early or never.
    static let openingBytes: Int64 = 64 << 20
    /// Set once the container is open.
    var isOpen = false
    /// Whether opening read too much.
    var isOverBudget: Bool { progress.isOverBudget }
    /// The processor time of the opening thread at which opening is aborted; `nil` for no limit.
    var openUntil: Duration?
    /// Whether a read met that limit.
    private(set) var isOverTime = false
    /// Bytes that libav has read.
    var readBytes: Int64 { progress.bytes }
    /// Whether a read has reached the end of the source.
    var isExhausted: Bool { progress.isExhausted }
    /// What libav has read so far.
    private(set) var progress = Progress()
    /// The errno of the first read that failed.
    private(set) var failure: Int32?

    /// Bytes that libav sees instead of those in the file. `lasting` patches apply for as long as the source lives,
    /// `passing` ones until the next `show`; `patches` are both together.
    private var lasting: [SourcePatch] = []
    private var passing: [SourcePatch] = []
    private var patches: [SourcePatch] = []

    /// Runs `work` with a read-ahead buffer for many small consecutive reads.
    ///
    /// The buffer is dropped afterwards, because the file may change.
    func readingAhead<Result>(_ work: () -> Result) -> Result {
        window = ReadAhead()
        defer { window = nil }
        return work()
    }

    private var window: ReadAhead?

    struct Progress {
        fileprivate(set) var bytes: Int64 = 0
        fileprivate(set) var isExhausted = false
        fileprivate(set) var isOverBudget = false
    }

    private static let bufferBytes = 64 * 1024

    /// The first bytes that libav has read of a pipe, for headers that it does not expose.
    private var head: [UInt8] = []
    private static let headLimit = 64 * 1024
    /// The last bytes of a pipe.
    private var tail: [UInt8] = []
    private static let tailLimit = 2 * OggPages.greatestPage

    init(descriptor: Int32, stop: StopSignal) throws {
        var status = stat()
        guard sluice_fstat(descriptor, &status) == 0 else {
            throw MediaError(.sourceIO, at: .open, "the source's descriptor is not usable: \(systemText(errno))")
        }
        let kind = status.st_mode & S_IFMT
        guard kind != S_IFDIR else { throw MediaError(.sourceIO, at: .open, "the source is a folder") }
        self.descriptor = descriptor
        self.stop = stop
        isSeekable = kind == S_IFREG
        size = kind == S_IFREG ? Int64(status.st_size) : nil

        let buffer = av_malloc(Self.bufferBytes)
        guard let buffer else { throw MediaError(.outOfMemory, at: .open, "no memory for the source's buffer") }
        context = avio_alloc_context(
            buffer.assumingMemoryBound(to: UInt8.self),
            Int32(Self.bufferBytes),
            0,
            Unmanaged.passUnretained(self).toOpaque(),
            { opaque, bytes, count in
                Unmanaged<ByteSource>.fromOpaque(opaque!).takeUnretainedValue().read(into: bytes!, upTo: Int(count))
            },
            nil,
            isSeekable
                ? { opaque, target, whence in
                    Unmanaged<ByteSource>.fromOpaque(opaque!).takeUnretainedValue().seek(to: target, whence: whence)
                } : nil
        )
        guard let context else {
            av_free(buffer)
            throw MediaError(.outOfMemory, at: .open, "no memory for the source's buffer")
        }
        context.pointee.seekable = isSeekable ? AVIO_SEEKABLE_NORMAL : 0
        if isSeekable { posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL) }
    }

    deinit {
        // libav may have replaced the buffer that it was given.
        if let context { av_free(context.pointee.buffer) }
        avio_context_free(&context)
    }

    private func read(into bytes: UnsafeMutablePointer<UInt8>, upTo count: Int) -> Int32 {
        if isLate() { return SLUICE_AVERROR_INVALIDDATA }
        if !isOpen, readBytes >= Self.openingBytes {
            progress.isOverBudget = true
            return SLUICE_AVERROR_INVALIDDATA
        }
        let count = isOpen ? count : min(count, Int(Self.openingBytes - readBytes))
        while !stop.isStopped {
            if !isSeekable {
                var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                let ready = poll(&waiting, 1, 20)
                if ready == 0 || (ready < 0 && errno == EINTR) { continue }
            }
            let got =
                isSeekable
                ? pread(descriptor, bytes, count, off_t(offset)) : Glibc.read(descriptor, bytes, count)
            if got > 0 {
                keepEnds(bytes, got)
                for patch in patches { patch.apply(to: .init(start: bytes, count: got), at: offset) }
                offset += Int64(got)
                progress.bytes += Int64(got)
                return Int32(got)
            }
            if got == 0 {
                progress.isExhausted = true
                passOverTheRest()
                return SLUICE_AVERROR_EOF
            }
            if errno == EINTR || errno == EAGAIN { continue }
            if failure == nil { failure = errno }
            return -errno
        }
        return SLUICE_AVERROR_EXIT
    }

    /// Whether `place` was read from a pipe and is no longer in libav's buffer.
    func hasPassed(_ place: Int64?) -> Bool {
        guard !isSeekable, let place, let context, let end = context.pointee.buf_end else { return false }
        return place < context.pointee.pos - Int64(end - context.pointee.buffer)
    }

    private func keepEnds(_ bytes: UnsafePointer<UInt8>, _ count: Int) {
        guard !isSeekable else { return }
        let fresh = UnsafeBufferPointer(start: bytes, count: count)
        if head.count < Self.headLimit { head.append(contentsOf: fresh.prefix(Self.headLimit - head.count)) }
        tail.append(contentsOf: fresh)
        // Not at each read, because what is kept moves.
        if tail.count > 2 * Self.tailLimit { tail.removeFirst(tail.count - Self.tailLimit) }
    }

    /// Moves libav to the end of its buffer, when it meets the end of the source.
    ///
    /// libav asks for more before it has used what it has only when it skips ahead. If it meets the end then, it stays
    /// where it was, and few of its demuxers notice: they would take the rest of a header for sound.
    private func passOverTheRest() {
        if let context { context.pointee.buf_ptr = context.pointee.buf_end }
    }

    /// Checked on every read by libav until the container is open.
    private func isLate() -> Bool {
        if !isOpen, !isOverTime, let openUntil, ThreadClock.cpu() > openUntil { isOverTime = true }
        return isOverTime
    }

    private func seek(to target: Int64, whence: Int32) -> Int64 {
        let place: Int64
        switch whence & ~AVSEEK_FORCE {
        case AVSEEK_SIZE: return size ?? -Int64(ENOSYS)
        case SEEK_SET: place = target
        case SEEK_CUR: place = offset.addingSaturated(target)
        case SEEK_END: place = (size ?? 0).addingSaturated(target)
        default: return -Int64(EINVAL)
        }
        // Demuxers compute offsets from numbers in the file, so the result can be negative.
        guard place >= 0 else { return -Int64(EINVAL) }
        offset = place
        return place
    }

    /// Shows libav `patches` in place of the file's bytes and rewinds to the start. Regular files only.
    ///
    /// Reads that bypass libav see the file unpatched.
    func show(_ patches: [SourcePatch]) {
        guard isSeekable, let context else { return }
        passing = patches
        self.patches = lasting + patches
        offset = 0
        // Discard libav's buffer: it was filled without these patches.
        context.pointee.buf_ptr = context.pointee.buffer
        context.pointee.buf_end = context.pointee.buffer
        (context.pointee.pos, context.pointee.eof_reached, context.pointee.error) = (0, 0, 0)
    }

    /// Shows libav `patches` for as long as the source lives, and rewinds to the start. What libav has used of a pipe
    /// stays as it was.
    func alwaysShow(_ patches: [SourcePatch]) {
        lasting += patches
        if isSeekable { return show(passing) }
        self.patches = lasting
        guard let context, let start = context.pointee.buffer, let end = context.pointee.buf_end else { return }
        let waiting = UnsafeMutableBufferPointer(start: start, count: end - start)
        for patch in patches { patch.apply(to: waiting, at: context.pointee.pos - Int64(waiting.count)) }
    }

    /// Notes a seek: the end of the source, if it was met, may come again.
    func noteSeek() { progress.isExhausted = false }

    /// Removes the passing patches, rewinds, and resets the read counters to `progress`.
    func startOver(from progress: Progress) {
        show([])
        self.progress = progress
    }

    /// Fills `buffer` from an offset in a regular file and returns the number of bytes read;
    /// zero at the end and on failure.
    ///
    /// A failure is kept in `failure`.
    func read(into buffer: UnsafeMutableRawBufferPointer, at place: Int64) -> Int {
        guard isSeekable, place >= 0 else { return 0 }
        let got = pread(descriptor, buffer.baseAddress, buffer.count, off_t(place))
        if got < 0, failure == nil { failure = errno }
        return max(0, got)
    }

    /// Reads bytes at an offset in a regular file, for the few headers that libav does not expose.
    ///
    /// Returns fewer bytes at the end of the file; `nil` for a pipe, past the end, and on failure.
    func bytes(at place: Int64, count: Int) -> [UInt8]? {
        guard isSeekable, place >= 0, count > 0 else { return nil }
        if let window, count <= window.reach { return window.bytes(at: place, count: count, of: descriptor) }
        var bytes = [UInt8](repeating: 0, count: count)
        let got = pread(descriptor, &bytes, count, off_t(place))
        guard got > 0 else { return nil }
        return Array(bytes.prefix(got))
    }

    /// Bytes of the source: of a pipe, once its end was read.
    var endSize: Int64? { size ?? (isExhausted ? readBytes : nil) }

    /// The same for the end of a source, and for the last 128 KiB that libav has read of a pipe.
    func endBytes(at place: Int64, count: Int) -> [UInt8]? {
        if isSeekable { return bytes(at: place, count: count) }
        let start = readBytes - Int64(tail.count)
        guard place >= start, place < readBytes, count > 0 else { return nil }
        return Array(tail[Int(place - start)...].prefix(count))
    }

    /// The same for headers, and for what libav has read so far of the first 64 KiB of a pipe.
    func headBytes(at place: Int64, count: Int) -> [UInt8]? {
        if isSeekable { return bytes(at: place, count: count) }
        guard place >= 0, place < head.count, count > 0 else { return nil }
        return Array(head[Int(place)...].prefix(count))
    }
}
