import Testing

@testable import Media

/// Which releases of libav count as tested.
struct LibAVReleaseTests {
    @Test(arguments: [
        // 5.0, 5.1, 5.1.9, 6.0, 7.1
        (59, 18, 100, false), (59, 37, 100, true), (59, 37, 109, true), (60, 3, 100, false), (61, 19, 101, true),
    ])
    func releaseIsKnownByItsLibavcodec(major: UInt32, minor: UInt32, micro: UInt32, isTested: Bool) {
        let version = major << 16 | minor << 8 | micro
        #expect(LibAV.isTested(codec: version) == isTested)
        #expect((LibAV.releaseWarning(codec: version) == nil) == isTested)
    }

    @Test func warningNamesTheReleaseAndTheTestedOnes() throws {
        let warning = try #require(LibAV.releaseWarning(codec: 1 << 16))
        #expect(warning == "sluice was never tested with libav \(LibAV.release), only with 5.1, 7.1")
    }
}
