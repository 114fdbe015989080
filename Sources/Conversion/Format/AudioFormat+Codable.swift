extension AudioFormat: Decodable {
    enum Field: String, CodingKey, CaseIterable {
        case container, codec, sampleRateHz, channelCount, layout, bitDepth, sampleKind, dither, resample, endianness
        case interleaving, bitRate, quality, bitRatePerChannel, maximumSampleRateHz, maximumChannelCount
    }

    /// Decodes strictly: an unknown field throws an error that names it.
    public init(from decoder: any Decoder) throws {
        try self.init(StrictFields(decoder, Field.self), container: nil)
    }

    /// Takes `fallback` as the container if the fields name none.
    init(_ fields: StrictFields<Field>, container fallback: Container?) throws {
        guard let container: Container = try fields.word(.container) ?? fallback else {
            throw fields.missing(.container)
        }
        self.init(
            container: container,
            codec: try fields.word(.codec),
            sampleRateHz: try fields.count(.sampleRateHz),
            channelCount: try fields.count(.channelCount),
            layout: try fields.optional(.layout),
            bitDepth: try fields.count(.bitDepth),
            sampleKind: try fields.word(.sampleKind),
            dither: try fields.word(.dither),
            resample: try fields.word(.resample),
            endianness: try fields.word(.endianness),
            interleaving: try fields.word(.interleaving),
            bitRate: try fields.count(.bitRate),
            quality: try fields.optional(.quality),
            bitRatePerChannel: try fields.count(.bitRatePerChannel),
            maximumSampleRateHz: try fields.count(.maximumSampleRateHz),
            maximumChannelCount: try fields.count(.maximumChannelCount)
        )
    }
}
