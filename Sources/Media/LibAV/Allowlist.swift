import CLibAV
package import Conversion
import Synchronization

/// The demuxers and decoders that may read a source. No other libav demuxer or decoder is reachable.
///
/// Debian's libav has about 350 demuxers, and some of them are playlists that open other files. Those of `SourceFormat`
/// each read one stream of bytes. A process may permit fewer.
package enum Allowlist {
    /// What is permitted, in the forms in which it is asked for.
    private struct Lists {
        let demuxers: Set<String>
        let decoders: Set<String>
        let demuxerList: String
        let decoderList: String

        init(_ formats: Set<SourceFormat>) {
            demuxers = Set(formats.demuxers)
            decoders = Set(formats.decoders)
            demuxerList = formats.demuxers.joined(separator: ",")
            decoderList = formats.decoders.joined(separator: ",")
        }
    }

    private static let lists = Mutex(Lists(.all))

    /// Permits only these formats from now on. Call it before anything is read.
    package static func narrow(to formats: Set<SourceFormat>) { lists.withLock { $0 = Lists(formats) } }

    static var demuxers: [String] { Set<SourceFormat>.all.demuxers }
    static var decoders: [String] { Set<SourceFormat>.all.decoders }

    static var demuxerList: String { lists.withLock { $0.demuxerList } }
    static var decoderList: String { lists.withLock { $0.decoderList } }

    /// Whether a demuxer is allowed, given libav's full name for it. That name may list several formats.
    static func allows(demuxer name: String) -> Bool { lists.withLock { $0.demuxers.contains(name) } }

    /// The word for the formats of which one would have to be permitted for this demuxer; `nil` if it is allowed, or if no
    /// format has it.
    static func withheld(demuxer name: String) -> String? {
        allows(demuxer: name) ? nil : SourceFormat.word(forDemuxer: name)
    }
}

extension Allowlist {
    /// Whether the allowlist has a decoder for a codec, given libav's name for the codec.
    static func decodes(codec name: String) -> Bool {
        avcodec_descriptor_get_by_name(name).flatMap { decoder(of: $0.pointee.id) } != nil
    }

    /// The allowed decoder for a codec; `nil` if there is none.
    ///
    /// libav's default decoder is not always allowed: its default for MP2 computes in integers.
    static func decoder(of codec: AVCodecID) -> UnsafePointer<AVCodec>? {
        let permitted = lists.withLock { $0.decoders }
        return decoder(of: codec) { permitted.contains($0) }
    }

    /// The same for a codec, given libav's name.
    static func withheld(codec name: String) -> String? {
        guard let codec = avcodec_descriptor_get_by_name(name)?.pointee.id, decoder(of: codec) == nil,
            let withheld = decoder(of: codec, where: decoders.contains)
        else { return nil }
        return SourceFormat.word(forDecoder: String(cString: withheld.pointee.name))
    }

    private static func decoder(of codec: AVCodecID, where isAllowed: (String) -> Bool) -> UnsafePointer<AVCodec>? {
        var state: UnsafeMutableRawPointer?
        while let candidate = av_codec_iterate(&state) {
            if candidate.pointee.id == codec, av_codec_is_decoder(candidate) != 0,
                isAllowed(String(cString: candidate.pointee.name))
            {
                return candidate
            }
        }
        return nil
    }
}

extension MediaError {
    /// The formats that may be read here do not include any of those that `word` names.
    static func withheld(_ word: String, at stage: Failure.Stage) -> MediaError {
        var error = MediaError(.unable, at: stage, "this is \(word), which may not be read here")
        error.libavName = word
        return error
    }
}
