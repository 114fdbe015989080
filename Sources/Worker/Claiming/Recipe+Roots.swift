import Conversion

extension Recipe {
    /// Whether a source or an output lies in the root `name`.
    func concerns(root name: String) -> Bool {
        (sources.map(\.location) + outputs.map(\.location)).contains { $0.hasPrefix("\(name):") }
    }
}
