import Conversion
import Testing

/// Texts in addresses and in fields of a header.
struct PercentEncodingTests {
    @Test(arguments: [
        ("aZ09", "", "aZ09"), ("a b", "", "a%20b"), ("a-b.c_d~e,f:g", "-._~,:", "a-b.c_d~e,f:g"),
        ("a-b~", "-", "a-b%7E"), ("é", "", "%C3%A9"), ("\u{0}\n%&=+#?/\"", "", "%00%0A%25%26%3D%2B%23%3F%2F%22"),
        ("", "", ""),
    ])
    func otherBytesAreEscaped(text: String, kept: String, wanted: String) {
        #expect(text.percentEncoded(keeping: kept) == wanted)
    }
}
