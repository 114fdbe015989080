import Foundation
import TestSupport
import Testing

/// What is special about a codec stands in `Sources/Media/Codecs`. All other code of Media asks the rules of the codec.
struct CodecNamesTests {
    private static let rules = "Sources/Media/Codecs"

    /// A line that compares the name of a codec, for grep and for Swift.
    private static let comparison =
        #"(codecName|codec_id)\)? *(==|!=|~=)|(==|!=|~=) *[A-Za-z.]*(codecName|codec_id)|"#
        + #"(switch|contains|hasPrefix|hasSuffix|starts)[ (][^{]*(codecName|codec_id)|"#
        + #"(codecName|codec_id)\.(contains|hasPrefix|hasSuffix|starts|prefix|suffix)|"#
        + #"\[[A-Za-z.]*(codecName|codec_id)\]"#

    @Test func onlyTheRulesOfCodecsCompareTheirNames() throws {
        let root = try SourceTree().root
        // Swift's regular expressions would take a minute for all lines in a debug build.
        let found = try Run.program("grep", ["-rnE", Self.comparison, "Sources/Media"], folder: root.path)
            .outputText
            .split(separator: "\n")
            .filter { !$0.hasPrefix(Self.rules + "/") && !Self.isComment($0) }
        #expect(found.isEmpty, "ask CodecRules instead: \(found)")
    }

    @Test func onlyCoversAreNamedByNumber() throws {
        for file in try SourceTree().swiftFiles(in: "Sources/Media") {
            let names = file.text.split(separator: "AV_CODEC_ID_").dropFirst().map { $0.prefix { $0.isLetter } }
            for name in names where !["PNG", "MJPEG"].contains(name) {
                Issue.record("\(file.path) knows the codec \(name): ask CodecRules instead")
            }
        }
    }

    /// What does not call C knows a format, and stands in Codecs, Containers or Reading.
    @Test func everyFileOfTheDoorCallsC() throws {
        let files = try SourceTree().swiftFiles(in: "Sources/Media/LibAV")
        #expect(!files.isEmpty)
        for file in files where !SwiftScan(of: file.text).imports.contains(where: { Self.calls.contains($0.module) }) {
            Issue.record("\(file.path) calls no C")
        }
    }

    private static let calls: Set<String> = ["CLibAV", "Glibc"]

    @Test func theRulesOfCodecsAreThere() throws {
        let files = try SourceTree().swiftFiles(in: Self.rules)
        #expect(files.count { $0.text.contains(": CodecRules {") } > 10)
    }

    @Test(arguments: [
        (#"if track.codecName == "opus" { return }"#, true), (#"switch stream.codecName {"#, true),
        (#"guard ["aac", "mp3"].contains(track.codecName) else { return }"#, true),
        (#"stream.codecName.hasPrefix("dsd_")"#, true), (#"track.codecName != "vorbis""#, true),
        ("context.pointee.codec_id == AV_CODEC_ID_MP1", true), ("switch parameters.codec_id {", true),
        (#""the \(track.codecName) data cannot be decoded""#, false), ("codecName: codecName,", false),
        ("codecName = stream.codecName", false), ("track.codec.native(self, to: track.codecName)", false),
    ])
    func comparisonsAreRecognised(line: String, is: Bool) throws {
        #expect(try line.contains(Regex(Self.comparison)) == `is`)
    }

    /// Whether a line that grep found, with file and number in front, is only a comment.
    private static func isComment(_ line: Substring) -> Bool {
        line.split(separator: ":", maxSplits: 2).last?.drop { $0 == " " }.hasPrefix("//") == true
    }
}
