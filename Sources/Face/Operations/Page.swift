/// A list under its name, and where it continues.
struct Page<Item: Encodable>: Encodable {
    let items: [Item]
    let name: String
    let next: String?

    init(items: [Item], named name: String, next: String?) {
        (self.items, self.name, self.next) = (items, name, next)
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(_ name: String) { stringValue = name }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }

    func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        try object.encode(items, forKey: Key(name))
        try object.encodeIfPresent(next, forKey: Key("next"))
    }
}
