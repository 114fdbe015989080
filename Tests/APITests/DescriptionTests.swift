import Conversion
import Testing

@testable import API

/// The description of the API.
@Suite struct DescriptionTests {
    /// Where members without a description are, as paths of names.
    private func undescribed(_ value: JSONValue, at path: String) -> [String] {
        if let items = value.items { return items.flatMap { undescribed($0, at: path) } }
        guard let members = value.members else { return [] }
        var found: [String] = []
        for (name, member) in members {
            if name == "properties" {
                for (property, shape) in member.members ?? [:] where shape.members?["description"]?.text ?? "" == "" {
                    found.append("\(path)/\(property)")
                }
            }
            found += undescribed(member, at: "\(path)/\(name)")
        }
        return found
    }

    @Test func everyMemberIsDescribed() throws {
        let text = try APIDescription.text(APIServer.operations(version: "1"), version: "1")
        let description = try #require(JSONValue(json: Array(text.utf8)))
        #expect(description.members?["components"] != nil)
        #expect(undescribed(description, at: "").sorted() == [])
    }
}
