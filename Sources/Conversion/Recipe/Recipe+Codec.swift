extension Recipe.Output {
    /// What its samples are encoded by; `copy` if they are not. Throws as `audioFormat()` does.
    public var codec: Codec {
        get throws(RecipeError) {
            let format = try audioFormat()
            return format.codec ?? FormatTable.defaultCodec(for: format.container)
        }
    }
}
