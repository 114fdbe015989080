import Console
import Conversion
import Storage

/// Where one of the outputs of each job is.
struct OutputTemplate: Sendable {
    /// The option that it comes from, for messages.
    let option: String
    /// As the user wrote it.
    private let text: String
    let template: DestinationTemplate
    /// The values of `{preset}` and `{ext}`.
    var preset: String?
    private var fileExtension: String?

    /// `cuts` says whether each source is cut into pieces.
    init(_ option: String, _ text: String, _ roots: PathRoots, cuts: Bool = false) throws {
        (self.option, self.text, template) = (option, text, try roots.template(text, of: option))
        if template.fields.contains(.id) {
            throw UsageError("\(option) \(text): {id} is unknown until a job is submitted")
        }
        if !cuts, let field = template.fields.filter(\.isOfPieces).map(\.rawValue).min() {
            throw UsageError(
                "\(option) \(text): {\(field)} belongs to a piece of a source",
                hint: "--split-at cuts sources, as in --split-at chapters"
            )
        }
    }

    /// Finds the value of `{ext}`, if the template uses it.
    mutating func settleExtension(_ container: Container?, _ codec: Codec?) throws(UsageError) {
        guard template.fields.contains(.ext) else { return }
        guard let container else {
            throw UsageError(
                "\(option) \(text): the value of {ext} is unknown",
                hint: option == "--also"
                    ? "add a preset, as in out/{stem}.{ext}:podcast-mp3" : "use --preset or --container"
            )
        }
        // Ogg files with Opus use the extension .opus.
        fileExtension = container == .ogg && codec == .opus ? "opus" : container.fileExtensions.first
    }

    /// The destination for `source`, whose root plays no part.
    func location(
        for source: Location,
        piece: DestinationTemplate.Piece? = nil
    ) throws(StorageError) -> Location {
        try template.location(for: source, ext: fileExtension ?? "", preset: preset, id: nil, piece: piece)
    }
}
