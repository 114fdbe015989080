import Testing

@testable import Command
@testable import Console

/// The settings of services in their file.
struct ServiceFileTests {
    @Test func everyOptionOfTheServicesIsAKeyButNotTheOnesAboutTheUser() {
        let names = ServiceFile.forms.map(\.name)
        #expect(Set(names).count == names.count)
        #expect(!names.contains("context") && !names.contains("config"))
        // A switch concerns one run.
        #expect(!names.contains("until-idle"))
        for name in ["database", "database-file", "root", "slots", "queue", "name", "sandbox", "room-memory", "grace"] {
            #expect(names.contains(name), "\(name)")
        }
    }
}
