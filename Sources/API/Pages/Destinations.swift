package import Conversion
import Storage

/// Where the outputs of sources go that a person has listed.
package enum Destinations {
    /// The destinations by a template such as `out:{dir}/{stem}.{ext}`, for a preset of this format. Throws what is wrong with
    /// the template or with a source.
    package static func made(
        of sources: [String],
        by text: String,
        preset: String?,
        _ format: AudioFormat?
    ) throws(Problem) -> [String] {
        let template: DestinationTemplate
        do throws(StorageError) { template = try DestinationTemplate(text) } catch {
            throw Problem(.badBody, mistakes: [.init(pointer: "destination", detail: error.detail)])
        }
        if template.fields.contains(.ext), format == nil {
            throw Problem(.badBody, mistakes: [.init(pointer: "preset", detail: "is missing: it decides {ext}")])
        }
        var made: [String] = []
        for source in sources {
            do throws(StorageError) {
                let location = try template.location(
                    for: Location(source),
                    ext: format?.usualExtension ?? "",
                    preset: preset,
                    id: nil
                )
                made.append("\(location)")
            } catch {
                throw Problem(.badBody, mistakes: [.init(pointer: source, detail: error.detail)])
            }
        }
        return made
    }
}

extension AudioFormat {
    /// The usual extension of files in it. Ogg files with Opus use `.opus`.
    var usualExtension: String {
        container == .ogg && codec == .opus ? "opus" : container.fileExtensions.first ?? ""
    }
}
