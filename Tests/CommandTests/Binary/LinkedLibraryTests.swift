import TestSupport
import Testing

/// Which libraries the two programs load at their start.
struct LinkedLibraryTests {
    /// The names of the libraries in the dynamic section, without the ending: `libpq`, `libc`.
    private func needed(by program: String) throws -> Set<String> {
        let text = try Run.program("readelf", ["--dynamic", "--wide", BuiltProgram.path(program)]).checked().outputText
        let names = text.split(separator: "\n").filter { $0.contains("(NEEDED)") }.compactMap { line in
            line.split(separator: "[").last?.split(separator: ".so").first.map(String.init)
        }
        // A build that is not for installation loads Swift's own libraries, too.
        return Set(names).filter { name in
            !["libswift", "lib_Foundation", "libFoundation", "libdispatch", "libBlocksRuntime"].contains(
                where: name.hasPrefix
            )
        }
    }

    private static let ofTheSystem: Set = [
        "libc", "libm", "libdl", "libpthread", "librt", "libutil", "libgcc_s", "libstdc++", "ld-linux-x86-64",
        "ld-linux-aarch64",
    ]

    /// Loading libav takes longer than most commands.
    @Test func commandLoadsNoLibraryOfRooms() throws {
        let expected: Set = ["libpq", "libmicrohttpd", "libcurl", "libcrypto", "libseccomp"]
        #expect(try needed(by: "sluice").subtracting(Self.ofTheSystem) == expected)
    }

    /// What decodes files of strangers can reach neither the database nor the network, and has no code for it.
    @Test func roomsLoadOnlyWhatConversionsNeed() throws {
        let expected: Set = ["libavformat", "libavcodec", "libswresample", "libavutil", "libebur128", "libseccomp"]
        #expect(try needed(by: "sluice-room").subtracting(Self.ofTheSystem) == expected)
    }
}
