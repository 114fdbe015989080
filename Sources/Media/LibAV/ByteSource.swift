import CLibAV
import Conversion
import Glibc
import System

/// Sees the bytes of a pipe once, in order, while they are read.
protocol PassingBytes: AnyObject {
    func pass(_ bytes: UnsafeBufferPointer<UInt8>)
}

/// Gives libav the bytes of one open descriptor. A demuxer has no other input.
///
/// The caller owns the descriptor and keeps it open for as long as the source lives. A regular file is read with
/// `pread` at offsets that the source tracks, so its file position does not change. A descriptor that stands for a
/// window is read like a regular file. Anything else is read in order; raising `stop` ends a wait for data.
final class ByteSource {
    let descriptor: Int32
    /// What the descriptor stands for, if it is not the source itself.
    private let remote: (any SourceWindow)?
    let isSeekable: Bool
    let stop: StopSignal
    /// Where the source begins in a regular file. All other offsets count from there.
    let start: Int64
    /// Bytes of a regular file from `start` on; `nil` for a pipe.
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

    /// What was read of a pipe, by libav or ahead of it.
    private var pipe = PipeBuffer()
    /// Whether the end of a pipe was met.
    private var pipeHasEnded = false
    /// Sees the bytes of the pipe, in order; `nil` if nothing asked for them.
    private(set) var onlooker: (any PassingBytes)?
    /// Whether libav reads the pipe, which then keeps what libav has yet to read.
    private var libAVReads = true

    /// `start` is where the source begins in a regular file.
    init(descriptor: Int32, stop: StopSignal, from start: Int64 = 0) throws {
        remote = SourceWindows.of(descriptor)
        let size = try remote?.byteCount ?? Self.size(of: descriptor)
        self.descriptor = descriptor
        self.stop = stop
        isSeekable = size != nil
        self.start = start
        self.size = size.map { max(0, $0 - start) }

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
        if isSeekable, remote == nil { posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL) }
    }

    /// The size of a regular file; `nil` for a pipe.
    private static func size(of descriptor: Int32) throws -> Int64? {
        var status = stat()
        guard sluice_fstat(descriptor, &status) == 0 else {
            throw MediaError(.sourceIO, at: .open, "the source's descriptor is not usable: \(systemText(errno))")
        }
        let kind = status.st_mode & S_IFMT
        guard kind != S_IFDIR else { throw MediaError(.sourceIO, at: .open, "the source is a folder") }
        return kind == S_IFREG ? Int64(status.st_size) : nil
    }

    /// The part of the source from `place` on, as a source. It reads the bytes of a pipe behind `place` that were read
    /// before again, and this one must not read on.
    ///
    /// Throws `source_not_seekable` if they are not kept.
    func continued(from place: Int64) throws -> ByteSource {
        if isSeekable {
            return try ByteSource(descriptor: descriptor, stop: stop, from: start.addingSaturated(place))
        }
        guard let rest = pipe.rest(from: place) else {
            throw MediaError(
                .sourceNotSeekable,
                at: .open,
                "a later stream of the source begins with large headers, so it cannot be read from a pipe",
                hint: "read it from a file"
            )
        }
        let next = try ByteSource(descriptor: descriptor, stop: stop)
        (next.pipe, next.pipeHasEnded) = (rest, pipeHasEnded)
        return next
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
        let got = isSeekable ? readFile(into: bytes, upTo: count) : readPipe(into: bytes, upTo: count)
        if got > 0 {
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
        return Int32(got)
    }

    /// Where `place` of the source lies in its file.
    private func fileOffset(_ place: Int64) -> Int64 { start.addingSaturated(place) }

    /// Returns zero at the end, and a negative error.
    private func readFile(into bytes: UnsafeMutablePointer<UInt8>, upTo count: Int) -> Int {
        while !stop.isStopped {
            let got = fileBytes(at: fileOffset(offset), into: .init(start: bytes, count: count))
            if got >= 0 { return got }
            if [Int(EINTR), Int(EAGAIN)].contains(-got) { continue }
            if failure == nil { failure = Int32(-got) }
            return got
        }
        return Int(SLUICE_AVERROR_EXIT)
    }

    /// Reads the file at an offset, or the window that the descriptor stands for. Returns zero at the end, and a negative
    /// errno.
    private func fileBytes(at place: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        if let remote { return remote.read(at: place, into: buffer, stop: stop) }
        let got = pread(descriptor, buffer.baseAddress, buffer.count, off_t(place))
        return got < 0 ? -Int(errno) : got
    }

    /// The same, until `buffer` is full or the file ends: a window gives what it has.
    private func allFileBytes(at place: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        var count = fileBytes(at: place, into: buffer)
        guard remote != nil, count > 0 else { return count }
        while count < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
            let more = fileBytes(at: place.addingSaturated(Int64(count)), into: rest)
            guard more > 0 else { return more < 0 ? more : count }
            count += more
        }
        return count
    }

    // MARK: Pipes

    /// The same. What was read ahead comes first.
    private func readPipe(into bytes: UnsafeMutablePointer<UInt8>, upTo count: Int) -> Int {
        let ahead = pipe.copy(offset, into: UnsafeMutableRawBufferPointer(start: bytes, count: count))
        return ahead > 0 ? ahead : receive(into: bytes, upTo: count)
    }

    /// Waits for bytes of a pipe and keeps them.
    private func receive(into bytes: UnsafeMutablePointer<UInt8>, upTo count: Int) -> Int {
        guard !pipeHasEnded else { return 0 }
        while !stop.isStopped {
            var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(&waiting, 1, 20)
            if ready == 0 || (ready < 0 && errno == EINTR) { continue }
            let got = Glibc.read(descriptor, bytes, count)
            if got >= 0 {
                onlooker?.pass(UnsafeBufferPointer(start: bytes, count: got))
                pipe.append(UnsafeBufferPointer(start: bytes, count: got), keeping: libAVReads ? offset : .max)
                pipeHasEnded = got == 0
                return got
            }
            if errno == EINTR || errno == EAGAIN { continue }
            if failure == nil { failure = errno }
            return -Int(errno)
        }
        return Int(SLUICE_AVERROR_EXIT)
    }

    /// Reads a pipe ahead of libav, up to `end`. `false` if it ends before that, or fails.
    @discardableResult
    private func readAhead(to end: Int64) -> Bool {
        guard pipe.end < end else { return true }
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.bufferBytes) { buffer in
            while let start = buffer.baseAddress, pipe.end < end {
                if receive(into: start, upTo: buffer.count) <= 0 { return false }
            }
            return true
        }
    }

    /// Lets libav return to bytes of a pipe that it has read. Only until the container is open is all of them kept.
    func beginReplay() {
        guard !isSeekable, let context else { return }
        context.pointee.seekable = AVIO_SEEKABLE_NORMAL
        context.pointee.seek = { opaque, target, whence in
            Unmanaged<ByteSource>.fromOpaque(opaque!).takeUnretainedValue().seekInPipe(to: target, whence: whence)
        }
    }

    func endReplay() {
        guard !isSeekable, let context else { return }
        context.pointee.seekable = 0
        context.pointee.seek = nil
    }

    private func seekInPipe(to target: Int64, whence: Int32) -> Int64 {
        guard whence & ~AVSEEK_FORCE == SEEK_SET, (0...Self.openingBytes).contains(target), readAhead(to: target) else {
            return -Int64(ENOSYS)
        }
        offset = target
        return target
    }

    /// Gives up what was read of a pipe before `place`, apart from its first and newest bytes.
    func forget(before place: Int64) { pipe.forget(before: place) }

    /// Shows `onlooker` all bytes of a pipe. Call it before the container is open, while all that was read is kept.
    func follow(with onlooker: any PassingBytes) {
        guard !isSeekable else { return }
        pipe.withKept(onlooker.pass)
        self.onlooker = onlooker
    }

    /// Notes that libav reads no more of the source.
    func takeOver() { libAVReads = false }

    /// Reads the rest of a pipe, if anything is left of it. Call it when libav reads no more.
    func readToEnd() {
        guard !isSeekable else { return }
        takeOver()
        forget(before: .max)
        while readAhead(to: pipe.end + 1) {}
        if pipeHasEnded { progress.isExhausted = true }
    }

    /// Whether `place` was read from a pipe and is no longer in libav's buffer.
    func hasPassed(_ place: Int64?) -> Bool {
        guard !isSeekable, let place, let context, let end = context.pointee.buf_end else { return false }
        return place < context.pointee.pos - Int64(end - context.pointee.buffer)
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

    /// Whether libav sees other bytes at `place` for as long as the source lives.
    func isPatched(at place: Int64) -> Bool { lasting.contains { $0.place == place } }

    /// Notes a seek: the end of the source, if it was met, may come again.
    func noteSeek() { progress.isExhausted = false }

    /// Removes the passing patches, rewinds, and resets the read counters to `progress`.
    func startOver(from progress: Progress) {
        show([])
        self.progress = progress
    }

    /// Fills `buffer` from an offset and returns the number of bytes read; fewer than fit in only at the end and on
    /// failure. Of a pipe, what was given up is missing, and what was not yet read is waited for.
    ///
    /// A failure is kept in `failure`.
    func read(into buffer: UnsafeMutableRawBufferPointer, at place: Int64) -> Int {
        guard place >= 0 else { return 0 }
        guard isSeekable else {
            if !readAhead(to: place.addingSaturated(Int64(buffer.count))), pipeHasEnded { progress.isExhausted = true }
            return pipe.copy(place, into: buffer)
        }
        let got = allFileBytes(at: fileOffset(place), into: buffer)
        if got < 0, failure == nil { failure = Int32(-got) }
        return max(0, got)
    }

    /// Bytes of the source: of a pipe, once its end was met.
    var endSize: Int64? { size ?? (pipeHasEnded ? pipe.end : nil) }

    /// Whether the source ends at `place`. Of a pipe, a byte behind it is waited for.
    func ends(at place: Int64) -> Bool {
        if !isSeekable { readAhead(to: place + 1) }
        return endSize == place
    }

    /// Reads bytes at an offset, for the few headers that libav does not expose. Of a pipe, it gives the first 64 KiB,
    /// the newest mebibyte, and what was not given up, and waits for bytes that do not lie far ahead.
    ///
    /// Returns fewer bytes at the end of the source; `nil` past it, for other places of a pipe, and on failure.
    func bytes(at place: Int64, count: Int) -> [UInt8]? {
        guard place >= 0, count > 0 else { return nil }
        if isSeekable, let window, count <= window.reach {
            return window.bytes(at: fileOffset(place), count: count, allFileBytes)
        }
        let end = place.addingSaturated(Int64(count))
        if !isSeekable, end <= Int64(PipeBuffer.headLimit) || place <= pipe.end && count <= PipeBuffer.headLimit {
            readAhead(to: end)
        }
        var bytes = [UInt8](repeating: 0, count: count)
        let got =
            isSeekable
            ? bytes.withUnsafeMutableBytes { allFileBytes(at: fileOffset(place), into: $0) }
            : bytes.withUnsafeMutableBytes { pipe.copy(place, into: $0) }
        guard got > 0 else { return nil }
        return Array(bytes.prefix(got))
    }
}
