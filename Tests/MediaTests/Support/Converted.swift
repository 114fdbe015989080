import Conversion
import Media
import TestSupport

/// Conversions from one file to another, as tests want them.
enum Converted {
    /// Converts `source` to a new file at `path`, and says what came of it.
    @discardableResult
    static func file(
        _ source: String,
        to path: String,
        as format: AudioFormat,
        ranges: [MediaTimeRange] = [],
        verifies: Bool = false,
        tags: [String: String] = [:],
        refusesLoss: Bool = false,
        raw: RawShape? = nil
    ) throws -> Converter.Outcome {
        let input = try OpenFile.reading(source)
        let output = try OpenFile.creating(path)
        var request = Converter.Request(
            format: format,
            ranges: ranges,
            verifies: verifies,
            tags: tags,
            nameHint: source,
            raw: raw
        )
        request.refusesLoss = refusesLoss
        return try Converter(request).run(from: input.descriptor, to: output.descriptor)
    }

    /// The code of the error that `body` throws, or `nil` if it throws none of ours.
    static func code(_ body: () throws -> Void) -> MediaError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? MediaError)?.code
        }
    }
}
