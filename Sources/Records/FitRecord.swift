package import Conversion

/// The JSON form of what a format would make of a source.
package struct FitRecord: Encodable {
    package let fits: Bool
    package let format: ResolvedFormat?
    package let isLossless: Bool?
    package let losses: [Remark.Kind]
    /// Of the tags, the names.
    package let keptTags: [String]
    package let lostTags: [String]
    /// `nil` if the source has none.
    package let keepsCover: Bool?
    package let reasons: [String]
    package let hints: [String]

    package init(_ wish: AudioFormat, _ facts: SourceFacts, _ extras: SourceExtras) {
        do throws(FormatRefusal) {
            let format = try facts.resolved(wish)
            (fits, self.format, isLossless) = (true, format, format.isLossless)
            (losses, reasons, hints) = (format.losses(of: facts.shape) + format.losses(of: extras), [], [])
            lostTags = format.lostTags(of: extras)
            keptTags = extras.tags.filter { format.container.stores(tag: $0) }
            keepsCover = extras.hasCover ? !losses.contains(.cover) : nil
        } catch {
            (fits, format, isLossless, losses) = (false, nil, nil, [])
            (keptTags, lostTags, keepsCover) = ([], [], nil)
            (reasons, hints) = (error.reasons.map(\.description), error.reasons.compactMap(\.hint))
        }
    }
}

/// The same of a preset.
package struct PresetFitRecord: Encodable {
    package let preset: String
    package let summary: String
    package let fit: FitRecord

    package init(_ preset: Preset, _ facts: SourceFacts, _ extras: SourceExtras) {
        (self.preset, summary) = (preset.name, preset.summary)
        fit = FitRecord(preset.format(forExtension: nil), facts, extras)
    }
}

/// The same of a container with a codec.
package struct FormatFitRecord: Encodable {
    package let container: Container
    package let codec: Codec
    package let fit: FitRecord

    package init(_ container: Container, _ codec: Codec, _ facts: SourceFacts, _ extras: SourceExtras) {
        (self.container, self.codec) = (container, codec)
        fit = FitRecord(AudioFormat(container: container, codec: codec), facts, extras)
    }
}
