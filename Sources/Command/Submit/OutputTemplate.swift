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
    /// Whether the user named a folder, as in `out/`: the outputs then lie in it as the sources do in theirs.
    private let isFolder: Bool
    /// The values of `{preset}` and `{ext}`.
    var preset: String?
    private var fileExtension: String?

    /// `cuts` says whether each source is cut into pieces.
    init(_ option: String, _ text: String, _ roots: PathRoots, cuts: Bool = false) throws {
        isFolder = text.utf8.last == UInt8(ascii: "/")
        let names = cuts ? "{dir}/{stem}-{n}.{ext}" : "{dir}/{stem}.{ext}"
        template = try roots.template(isFolder ? text + names : text, of: option)
        (self.option, self.text) = (option, text)
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
                isFolder
                    ? "\(option) \(text) is a folder, and the format of the outputs is not given"
                    : "\(option) \(text): the value of {ext} is unknown",
                hint: Self.extensionHint(option)
            )
        }
        // Ogg files with Opus use the extension .opus.
        fileExtension = container == .ogg && codec == .opus ? "opus" : container.fileExtensions.first
    }

    private static func extensionHint(_ option: String) -> String {
        switch option {
        case SubmitOptions.also.form.word: "add a preset, as in out/{stem}.{ext}:podcast-mp3"
        case SubmitOptions.waveform.form.word, SubmitOptions.spectrogram.form.word: "{ext} is that of a format of sound"
        default: "use --preset or --container"
        }
    }

    /// The destination for `source`, whose root plays no part.
    func location(
        for source: Location,
        piece: DestinationTemplate.Piece? = nil
    ) throws(StorageError) -> Location {
        try template.location(for: source, ext: fileExtension ?? "", preset: preset, id: nil, piece: piece)
    }
}
