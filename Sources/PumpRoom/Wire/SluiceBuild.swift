/// The version of `sluice` and `sluice-room`, which are built together.
public enum SluiceBuild {
    /// The current release, or the next one during development.
    public static let number = "0.2.0-dev"
}
