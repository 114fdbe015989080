/// True Audio, whose packets state no frames.
struct TTACodec: CodecRules {
    let names = ["tta"]
    let packets = CodecTraits(preroll: 0, framesAreInContainer: true)
    let decoding = DecodingTraits(inventsPositions: true)
}
