extension Recipe.Output {
    /// The codec that encodes the output's samples; `copy` for passthrough. Throws as `audioFormat()` does.
    public var codec: Codec {
        get throws(RecipeError) {
            let format = try audioFormat()
            return format.codec ?? FormatTable.defaultCodec(for: format.container)
        }
    }
}
