package import Conversion
package import Ledger
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

    /// What the locations of a tenant's outputs begin with; `nil`: anything. The ledger's `output_places()` computes the same.
    package static func places(of tenant: Tenant) -> [String]? {
        let writes = tenant.limits.writes
        // `try?`: with a template that cannot be used, each submission says so.
        guard let text = tenant.limits.destination, let template = try? TenantDestination(text) else { return writes }
        let folder = template.folder(of: tenant.name)
        return writes?.compactMap { $0.hasPrefix(folder) ? $0 : folder.hasPrefix($0) ? folder : nil } ?? [folder]
    }
}

extension AudioFormat {
    /// The usual extension of files in it. Ogg files with Opus use `.opus`.
    var usualExtension: String {
        container == .ogg && codec == .opus ? "opus" : container.fileExtensions.first ?? ""
    }
}
