import Conversion
import Media
import TestSupport

/// Conversions from file to file for tests.
enum Converted {
    /// Converts `source` to a new file at `path` and returns the outcome.
    @discardableResult
    static func file(
        _ source: String,
        to path: String,
        as format: AudioFormat,
        ranges: [MediaTimeRange] = [],
        verifies: Bool = false,
        tags: [String: Recipe.TagValues] = [:],
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

    /// The code of the `MediaError` that `body` throws; `nil` for success and for other errors.
    static func code(_ body: () throws -> Void) -> FailureCode? {
        do {
            try body()
            return nil
        } catch {
            return (error as? MediaError)?.code
        }
    }
}
