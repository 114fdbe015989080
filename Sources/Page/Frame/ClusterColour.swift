/// The colour of a cluster, so that an important one looks unlike the others: at the edge of its page, beside its name and in
/// its icon.
package enum ClusterColour: String, Sendable, CaseIterable {
    case red, yellow, green, blue, magenta, cyan

    /// As `page.css` has it on light ground.
    var code: String {
        switch self {
        case .red: "#c2362b"
        case .yellow: "#a67c00"
        case .green: "#2f7d3f"
        case .blue: "#2b5fd0"
        case .magenta: "#a8329a"
        case .cyan: "#00808c"
        }
    }

    /// The name of the icon in a colour, or in that of Sluice.
    static func icon(_ colour: ClusterColour?) -> String { colour.map { "icon-\($0.rawValue)" } ?? "icon" }
}
