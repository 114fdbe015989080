package import Conversion
package import Ledger

/// What a format would make of a source.
package struct FitRecord: DeclaredRecord {
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

    package static let fields: [RecordField<FitRecord>] = [
        .derived("fits", .truth, isRequired: true, "whether the source can be converted to it") { $0.fits },
        .derived("format", .anything, "as in recipes, with every field settled") { $0.format },
        .derived("isLossless", .truth, "whether the codec restores the samples that it gets") { $0.isLossless },
        .derived(
            "losses",
            .list(.choice(Remark.Kind.allCases.map(\.rawValue))),
            isRequired: true,
            "what the output would lack, as kinds of warnings"
        ) { $0.losses },
        .derived("keptTags", .list(.text), isRequired: true, "the names of the tags that it would have") {
            $0.keptTags
        },
        .derived("lostTags", .list(.text), isRequired: true, "the names of those that it cannot store") {
            $0.lostTags
        },
        .derived("keepsCover", .truth, "whether it would have the cover; missing: the source has none") {
            $0.keepsCover
        },
        .derived("reasons", .list(.text), isRequired: true, "why it does not fit") { $0.reasons },
        .derived("hints", .list(.text), isRequired: true, "what to do then") { $0.hints },
    ]
}

/// The same of a preset.
package struct PresetFitRecord: DeclaredRecord {
    package let preset: String
    package let summary: String
    package let fit: FitRecord

    package init(_ preset: Preset, _ facts: SourceFacts, _ extras: SourceExtras) {
        (self.preset, summary) = (preset.name, preset.summary)
        fit = FitRecord(preset.format(forExtension: nil), facts, extras)
    }

    package static let fields: [RecordField<PresetFitRecord>] = [
        .derived("preset", .text, isRequired: true, "its name") { $0.preset },
        .derived("summary", .text, isRequired: true, "what it is for") { $0.summary },
        .derived("fit", .record("Fit", FitRecord.descriptions), isRequired: true, "whether the source fits") {
            JSONRecord($0.fit)
        },
    ]
}

/// The same of a container with a codec.
package struct FormatFitRecord: DeclaredRecord {
    package let container: Container
    package let codec: Codec
    package let fit: FitRecord

    package init(_ container: Container, _ codec: Codec, _ facts: SourceFacts, _ extras: SourceExtras) {
        (self.container, self.codec) = (container, codec)
        fit = FitRecord(AudioFormat(container: container, codec: codec), facts, extras)
    }

    package static let fields: [RecordField<FormatFitRecord>] = [
        .derived("container", .text, isRequired: true, "the container") { $0.container },
        .derived("codec", .text, isRequired: true, "the codec") { $0.codec },
        .derived("fit", .record("Fit", FitRecord.descriptions), isRequired: true, "whether the source fits") {
            JSONRecord($0.fit)
        },
    ]
}

/// What all presets and formats would make of a source.
package struct CompatibilityRecord: DeclaredRecord {
    package let presets: [PresetFitRecord]
    package let formats: [FormatFitRecord]

    package static let fields: [RecordField<CompatibilityRecord>] = [
        .derived(
            "presets",
            .list(.record("PresetFit", PresetFitRecord.descriptions)),
            isRequired: true,
            "all, in the order of the list of presets"
        ) { $0.presets.map(JSONRecord.init) },
        .derived(
            "formats",
            .list(.record("FormatFit", FormatFitRecord.descriptions)),
            isRequired: true,
            "each container with each codec, and with packets as they are"
        ) { $0.formats.map(JSONRecord.init) },
    ]
}
