import Storage
import Testing

/// Where the outputs of a tenant go: no value that the tenant chooses leads elsewhere.
struct TenantDestinationTests {
    private func made(
        _ template: String,
        _ source: String = "in:shows/a.wav",
        label: String = "monday",
        ext: String = "flac"
    ) throws -> String {
        let values = TenantDestination.Values(tenant: "radio", label: label, ext: ext, preset: "flac")
        return try TenantDestination(template).location(for: Location(source), values).description
    }

    @Test func destinationsAreMadeOfTheirFields() throws {
        #expect(try made("out:{tenant}/{label}/{stem}.{ext}") == "out:radio/monday/a.flac")
        #expect(try made("out:{tenant}/{dir}/{stem}.{ext}") == "out:radio/shows/a.flac")
        #expect(try made("out:{tenant}/{dir}/{stem}.{ext}", "in:a.wav") == "out:radio/a.flac")
        #expect(try made("out:{dir}/{stem}-{preset}.{ext}", "in:a.wav") == "out:a-flac.flac")
        #expect(try made("out:{{x}}/{stem}.mp3") == "out:{x}/a.mp3")
        // A name of dots is a file like others once the extension stands behind it.
        #expect(try made("out:{tenant}/{stem}.{ext}", "in:...wav") == "out:radio/...flac")
    }

    @Test func theFolderIsThatBeforeTheFirstField() throws {
        for (template, folder) in [
            ("out:{tenant}/{label}/{stem}.{ext}", "out:radio/"), ("out:a/{tenant}-x/b{stem}", "out:a/radio-x/"),
            ("out:{tenant}{stem}", "out:"), ("out:{stem}", "out:"), ("out:a/{{b}}/{stem}", "out:a/"),
            ("out:{dir}/{tenant}/{stem}", "out:"), ("out:a/}}{tenant}/{stem}", "out:a/"),
            ("out:a/{{tenant}}/{stem}", "out:a/"),
        ] {
            #expect(try TenantDestination(template).folder(of: "radio") == folder, "\(template)")
        }
    }

    @Test func noValueLeadsOutOfTheFolder() throws {
        let long = String(repeating: "n", count: 250)
        for label in ["", ".", "..", "a/b", "../x", "/", "a\u{0}b", "a\nb", "a\u{2028}b", long + long] {
            #expect(throws: StorageError.self, "\(label)") {
                try made("out:{tenant}/{label}/{stem}.{ext}", label: label)
            }
        }
        // Braces of a value are text.
        #expect(try made("out:{label}/{stem}.x", label: "{stem}") == "out:{stem}/a.x")
        #expect(throws: StorageError.self) {
            try made("out:{label}{stem}.{ext}", "in:\(long).wav", label: "long-label")
        }
        #expect(throws: StorageError.self) { try made("out:{stem}.{ext}", ext: "../x") }
        #expect(throws: StorageError.self) { try made("out:{stem}.{ext}", ext: "") }
        // "..wav" has the stem ".".
        #expect(throws: StorageError.self) { try made("out:{tenant}/{stem}", "in:..wav") }
        let labels = ["a", "..a", "{", "}}", "\u{202E}x", "\u{301}", "%2e%2e", "~", "a:b"]
        let sources = ["in:a.wav", "in:b/..c.wav", "in:d/e/f.g.wav", "in:{x}.wav", "in:\u{301}.wav"]
        for label in labels {
            for source in sources {
                let place = try made("out:{tenant}/{label}/{dir}/{stem}.{ext}", source, label: label)
                #expect(place.unicodeScalars.starts(with: "out:radio/".unicodeScalars), "\(place)")
                #expect(try Location(place).description == place)
            }
        }
    }

    @Test func templatesThatCannotBeUsedAreRefused() {
        for template in [
            "", "out", "{tenant}/{stem}", "out:", "out:x", "out:{tenant}", "out:{stem}/", "out:../{stem}",
            "out:/{stem}",
            "out:{titel}/{stem}", "out:{stem", "http:{stem}", "o t:{stem}", "out:./{tenant}/{stem}",
            "out:a//{tenant}/{stem}",
            "out:{id}/{stem}", "out:" + String(repeating: "a/", count: 600) + "{stem}",
        ] {
            #expect(throws: StorageError.self, "\(template)") { try TenantDestination(template) }
        }
    }

    @Test func theCommandGetsATemplateOfItsOwn() throws {
        let template = try TenantDestination("out:{tenant}/{{x}}/{label}/{dir}/{stem}.{ext}")
        let text = try template.submitting(as: "radio", label: "a{b}")
        #expect(text == "out:radio/{{x}}/a{{b}}/{dir}/{stem}.{ext}")
        let source = try Location("in:shows/a.wav")
        let values = TenantDestination.Values(tenant: "radio", label: "a{b}", ext: "mp3", preset: "")
        #expect(
            try DestinationTemplate(text).location(for: source, ext: "mp3", preset: nil, id: nil)
                == template.location(for: source, values)
        )
        #expect(throws: StorageError.self) { try template.submitting(as: "radio", label: nil) }
        #expect(throws: StorageError.self) { try template.submitting(as: "radio", label: "a/b") }
    }
}
