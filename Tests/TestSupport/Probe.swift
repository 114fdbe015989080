public import Foundation

/// The report of `ffprobe` on a file, as far as tests use it.
public struct Probe: Sendable {
    /// One stream. Fields that ffprobe leaves out are `nil`.
    public struct Stream: Sendable {
        /// Its index in the file, from 0.
        public let index: Int
        /// `audio`, `video`, `subtitle`, `data` or `attachment`.
        public let kind: String
        /// The decoder's name, such as `pcm_s24le`.
        public let codec: String?
        /// The codec's name for its variant, such as `LC`.
        public let profile: String?
        /// The format of the decoded samples, such as `s16p`.
        public let sampleFormat: String?
        /// In hertz.
        public let rate: Int?
        /// Samples per frame.
        public let channels: Int?
        /// ffprobe's name, such as `5.1(side)`.
        public let channelLayout: String?
        /// The significant bits of a sample.
        public let bitsPerRawSample: Int?
        /// In bits per second.
        public let bitRate: Int?
        /// As ffprobe writes it, such as `1/44100`.
        public let timeBase: String
        /// In units of the time base.
        public let startTime: Int?
        /// In units of the time base.
        public let duration: Int?
        /// Whether it is cover art.
        public let isAttachedPicture: Bool
        /// In pixels.
        public let width: Int?
        /// In pixels.
        public let height: Int?
        /// Tag names have the case in which ffprobe reports them.
        public let tags: [String: String]
    }

    /// One chapter, in seconds.
    public struct Chapter: Sendable {
        /// Where it begins.
        public let start: Double
        /// Where it ends.
        public let end: Double
        /// Tag names have the case in which ffprobe reports them.
        public let tags: [String: String]
    }

    /// The demuxer's names, such as `mov,mp4,m4a,3gp,3g2,mj2`.
    public let formatName: String
    /// The length in seconds, as the container states it.
    public let seconds: Double?
    /// In bits per second.
    public let bitRate: Int?
    /// Tag names have the case in which ffprobe reports them.
    public let tags: [String: String]
    /// All streams, in order of index.
    public let streams: [Stream]
    /// All chapters, in order.
    public let chapters: [Chapter]

    /// The audio streams, in order.
    public var audio: [Stream] { streams.filter { $0.kind == "audio" } }

    /// The covers, in order.
    public var attachedPictures: [Stream] { streams.filter(\.isAttachedPicture) }

    /// Reads the JSON report of `ffprobe -show_format -show_streams -show_chapters`.
    public init(json: Data) throws {
        guard let report = Fields(try JSONSerialization.jsonObject(with: json)),
            let format = Fields(report.values["format"] ?? [:]), let formatName = format.text("format_name")
        else { throw SupportError("read ffprobe's report", String(decoding: json.prefix(500), as: UTF8.self)) }
        self.formatName = formatName
        seconds = format.number("duration")
        bitRate = format.whole("bit_rate")
        tags = format.texts("tags")
        streams = report.list("streams").map { stream in
            Stream(
                index: stream.whole("index") ?? -1,
                kind: stream.text("codec_type") ?? "unknown",
                codec: stream.text("codec_name"),
                profile: stream.text("profile"),
                sampleFormat: stream.text("sample_fmt"),
                rate: stream.whole("sample_rate"),
                channels: stream.whole("channels"),
                channelLayout: stream.text("channel_layout"),
                bitsPerRawSample: stream.whole("bits_per_raw_sample"),
                bitRate: stream.whole("bit_rate"),
                timeBase: stream.text("time_base") ?? "",
                startTime: stream.whole("start_pts"),
                duration: stream.whole("duration_ts"),
                isAttachedPicture: Fields(stream.values["disposition"] ?? [:])?.whole("attached_pic") == 1,
                width: stream.whole("width"),
                height: stream.whole("height"),
                tags: stream.texts("tags")
            )
        }
        chapters = report.list("chapters").map { chapter in
            Chapter(
                start: chapter.number("start_time") ?? 0,
                end: chapter.number("end_time") ?? 0,
                tags: chapter.texts("tags")
            )
        }
    }
}

/// A JSON object of ffprobe's, in which numbers may be strings.
private struct Fields {
    let values: [String: Any]

    init?(_ object: Any) {
        guard let values = object as? [String: Any] else { return nil }
        self.values = values
    }

    func text(_ name: String) -> String? { values[name] as? String }

    func whole(_ name: String) -> Int? { values[name] as? Int ?? text(name).flatMap { Int($0) } }

    func number(_ name: String) -> Double? { values[name] as? Double ?? text(name).flatMap { Double($0) } }

    func texts(_ name: String) -> [String: String] { values[name] as? [String: String] ?? [:] }

    func list(_ name: String) -> [Fields] { (values[name] as? [Any] ?? []).compactMap { Fields($0) } }
}
