import CLibAV
import Conversion

extension Demuxer {
    /// As many bytes as a container needs to be certain.
    private static let certainBytes = 257

    static func recognise(
        _ source: ByteSource,
        nameHint: String?
    ) throws -> UnsafePointer<AVInputFormat> {
        if let size = source.size, size == 0 {
            throw MediaError(.emptyInput, at: .open, "the source is empty")
        }
        try refuseLessThanAFrame(source)
        let start = source.bytes(at: 0, count: Self.certainBytes)
        if let certain = start.flatMap({ ContainerRegistry.demuxer(certainFor: $0) }) { return try find(certain) }
        let head = start.map { Array($0.prefix(12)) }
        // libav 7.1 takes this playlist for what the file's name says.
        if head?.starts(with: Array("#EXTM3U".utf8)) == true { throw notAllowed("hls") }
        var format: UnsafePointer<AVInputFormat>?
        let result = av_probe_input_buffer2(source.context, &format, nameHint ?? "", nil, 0, 1 << 20)
        // libav misidentifies a handful of raw AAC frames, and of GSM.
        if result < 25, ADTSSync.isStream(source) { return try find("aac") }
        if result < 25, GSMSync.isStream(source) { return try find("gsm") }
        if source.isOverTime { throw overTime(nil) }
        if result < 0 || format == nil {
            if let name = head.flatMap({ ContainerRegistry.demuxer(recognising: $0) }) { return try find(name) }
            if source.context!.pointee.pos == 0, result == SLUICE_AVERROR_EOF {
                throw MediaError(.emptyInput, at: .open, "the source is empty")
            }
            if let failure = source.failure {
                throw MediaError(LibAVError("read", -failure), .sourceIO, at: .open, "the source cannot be read")
            }
            throw MediaError(
                LibAVError("av_probe_input_buffer2", result),
                .unknownContainer,
                at: .open,
                "no known audio format was recognised"
            )
        }
        let name = String(cString: format!.pointee.name)
        if let format = Allowlist.withheld(demuxer: name) { throw MediaError.withheld(format, at: .open) }
        guard Allowlist.allows(demuxer: name) else { throw notAllowed(name) }
        return format!
    }

    private static func notAllowed(_ name: String) -> MediaError {
        MediaError(.containerNotAllowed, at: .open, "this is \(name), which is not a supported input format")
    }

    /// Rejects a source that is too short to hold a frame, which libav would misidentify from its first bytes.
    private static func refuseLessThanAFrame(_ source: ByteSource) throws {
        guard let size = source.size else { return }
        let end = TagBlocks.soundEnd(of: source, size: size)
        let place = TagBlocks.end(in: source, before: end)
        if place >= end { throw MediaError(.tagsOnly, at: .open, "the source contains tags but no audio") }
        guard end - place < 8192, let bytes = source.bytes(at: place, count: 8) else { return }
        let head = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } << UInt64(8 * (8 - bytes.count))
        for syntax in FrameSyntax.allCases {
            guard let header = syntax.header(head) else { continue }
            let behind = place + Int64(header.bytes)
            if behind > end || behind == end && syntax.leastFrames > 1 {
                throw MediaError(
                    .noDecodableFrame,
                    at: .open,
                    "\(Plural.count(end - place, "byte")) cannot hold two frames"
                )
            }
        }
    }

    /// Whether the bytes identify the format, not only the file name.
    static func isRecognised(_ source: ByteSource, as name: String) -> Bool {
        guard var bytes = source.bytes(at: 0, count: 1 << 16) else { return true }
        let count = bytes.count
        bytes += [UInt8](repeating: 0, count: Int(AVPROBE_PADDING_SIZE))
        return bytes.withUnsafeMutableBufferPointer { buffer in
            "".withCString { empty in
                var probe = AVProbeData(
                    filename: empty,
                    buf: buffer.baseAddress,
                    buf_size: Int32(count),
                    mime_type: nil
                )
                var score: Int32 = 0
                guard let found = av_probe_input_format3(&probe, 1, &score) else { return false }
                // Below a quarter of the maximum score, libav itself advises reading more.
                return score >= SLUICE_PROBE_SCORE_RETRY && String(cString: found.pointee.name) == name
            }
        }
    }
}
