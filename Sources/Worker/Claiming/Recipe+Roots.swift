import Conversion

extension Recipe {
    /// Whether something is read from the root `name` or written to it.
    func concerns(root name: String) -> Bool {
        (sources.map(\.location) + outputs.map(\.location)).contains { $0.hasPrefix("\(name):") }
    }
}
