package import Conversion
package import Ledger

/// A preset.
package struct PresetRecord: ListedRecord {
    package let preset: Preset

    package init(_ preset: Preset) { self.preset = preset }

    package static let listName = "presets"
    package static let fields: [RecordField<PresetRecord>] = [
        .derived("preset", .text, isRequired: true, "its name") { $0.preset.name },
        .derived("summary", .text, isRequired: true, "what it is for") { $0.preset.summary },
        .derived("format", .anything, isRequired: true, "as in recipes") { $0.preset.format },
    ]
}
