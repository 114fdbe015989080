public import Conversion

/// The words in which a job says what it needs and a worker what it can.
public enum AbilityWord {
    /// Has the files of a root.
    public static func root(_ name: String) -> String { "root:\(name)" }

    /// The encoder that a codec needs; `copy` encodes nothing and needs none.
    public static func codec(_ codec: Codec) -> String { "codec:\(codec.rawValue)" }

    /// Reads recipes of a version.
    static func recipe(_ version: Int) -> String { "recipe:\(version)" }
}
