import Conversion
import Ledger
import Storage

/// Where the outputs of a tenant's submission go. The ledger checks the folder again.
struct DestinationRule {
    private let template: TenantDestination
    private let tenant: String
    private let label: String
    /// What every destination begins with.
    private let folder: String
    /// The destinations that were made, as hashes.
    private var made: Set<Int> = []
    /// Of more jobs than this, their conflict policies decide which of two equal destinations stays: a submission takes
    /// constant memory.
    private static let mostMade = 200_000

    /// The rule for a submission of a tenant with this batch name; `nil` if the tenant has none.
    init?(_ tenant: Tenant?, label: String?) throws {
        guard let tenant, let text = tenant.limits.destination else { return nil }
        self.tenant = tenant.name
        self.label = label ?? ""
        do throws(StorageError) { template = try TenantDestination(text) } catch {
            throw Problem(
                .badDestination,
                "the template of the tenant's destinations cannot be used (\(error.detail)); ask an operator"
            )
        }
        folder = template.folder(of: tenant.name)
    }

    /// The destination of a job that names none, and perhaps a preset of this format. Throws what is wrong, with a pointer
    /// into the job.
    mutating func destination(
        for source: String,
        preset: String?,
        _ format: AudioFormat?
    ) throws(RequestMaker.Mistake) -> String {
        if template.fields.contains(.label), label.isEmpty {
            throw RequestMaker.Mistake(
                pointer: "/output",
                detail:
                    "is missing, and is not made: the tenant's destinations contain the name of the batch, which has none"
            )
        }
        let place: Location
        do {
            place = try Location(source)
        } catch {
            throw RequestMaker.Mistake(pointer: "/source", detail: error.detail)
        }
        var ext = ""
        if template.fields.contains(.ext) || template.fields.contains(.preset) {
            guard let format else {
                throw RequestMaker.Mistake(pointer: "/preset", detail: "is missing: the destination depends on it")
            }
            ext = format.usualExtension
        }
        let location: Location
        do {
            location = try template.location(
                for: place,
                .init(tenant: tenant, label: label, ext: ext, preset: preset ?? "")
            )
        } catch {
            throw RequestMaker.Mistake(pointer: "/source", detail: "makes no destination: \(error.detail)")
        }
        if made.count < Self.mostMade, !made.insert(location.hashValue).inserted {
            throw RequestMaker.Mistake(
                pointer: "/source",
                detail: "has the same destination as an earlier job, \(location)"
            )
        }
        return location.description
    }

    /// Checks a destination that a job names. `pointer` is where.
    func check(_ location: String, at pointer: String) throws(RequestMaker.Mistake) {
        guard location.utf8.starts(with: folder.utf8) else {
            throw RequestMaker.Mistake(
                pointer: pointer,
                detail: "must begin with \(folder), where this tenant's outputs go; without an output, one is made"
            )
        }
    }
}
