package import Conversion

/// The JSON form of a preset.
package struct PresetRecord: Encodable {
    package let preset: String
    package let summary: String
    package let format: AudioFormat

    package init(_ preset: Preset) {
        self.preset = preset.name
        summary = preset.summary
        format = preset.format
    }
}
