import Foundation

/// The documentation of this project.
enum Documentation {
    /// The full path of a page in `docs`.
    static func path(_ name: String) -> String {
        var place = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { place.deleteLastPathComponent() }
        return place.appendingPathComponent("docs").appendingPathComponent(name).path
    }
}
