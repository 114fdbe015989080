public import Conversion

/// The strings that state what a job needs and what a worker can do.
public enum AbilityWord {
    /// Access to the files of a root.
    public static func root(_ name: String) -> String { "root:\(name)" }

    /// The encoder that a codec needs; `copy` encodes nothing and needs none.
    public static func codec(_ codec: Codec) -> String { "codec:\(codec.rawValue)" }

    /// A part of libav that not every worker may use, by its word in `SourceFormat`.
    public static func format(_ word: String) -> String { "format:\(word)" }

    /// The release of libav, by the major version of libavcodec.
    public static func libav(_ major: Int) -> String { "libav:\(major)" }

    /// Support for a version of recipes.
    static func recipe(_ version: Int) -> String { "recipe:\(version)" }
}
