import Conversion
import Testing

/// What the headers of pictures state.
struct PictureHeaderTests {
    /// A segment with this many bytes behind its length.
    private func segment(_ marker: UInt8, _ count: Int) -> [UInt8] {
        let length = UInt16(count + 2)
        let head: [UInt8] = [0xFF, marker, UInt8(length >> 8), UInt8(length & 0xFF)]
        return head + [UInt8](repeating: 7, count: count)
    }

    private func frame(_ marker: UInt8 = 0xC0, bits: UInt8 = 8) -> [UInt8] {
        let head: [UInt8] = [0xFF, marker, 0, 17, bits, 0x04, 0x38, 0x07, 0x80]
        return head + [UInt8](repeating: 0, count: 10)
    }

    private func joined(_ parts: [UInt8]...) -> [UInt8] { parts.flatMap(\.self) }

    @Test func theFrameHeaderOfAJPEGIsFoundBehindOtherSegments() throws {
        let start = joined([0xFF, 0xD8], segment(0xE1, 60_000), segment(0xDB, 65), [0xFF, 0xFF], segment(0xC4, 20))
        let header = try #require(PictureHeader(start + frame(0xC2)))
        #expect(header.width == 1_920 && header.height == 1_080 && !header.isPNG && header.isCommon)
        for (marker, bits) in [(0xC3, 8), (0xC9, 8), (0xC1, 12)] as [(UInt8, UInt8)] {
            #expect(PictureHeader(start + frame(marker, bits: bits))?.isCommon == false)
        }
        for short in [start, joined(start, Array(frame().prefix(8))), joined(start, segment(0xDA, 10), frame()), []] {
            #expect(PictureHeader(short) == nil)
        }
    }

    /// A cover of 16 MiB is not read to look at it.
    @Test func onlyTheHeaderIsRead() {
        let bytes = joined([0xFF, 0xD8], segment(0xE1, 60_000), frame())
        var count = 0
        let header = PictureHeader { place, wanted in
            count += wanted
            return bytes[min(place, bytes.count)..<min(place + wanted, bytes.count)]
        }
        #expect(header?.width == 1_920 && count < 100)
        // Segments that never end.
        var reads = 0
        let endless = PictureHeader { place, wanted in
            reads += 1
            return place == 0 ? [0xFF, 0xD8] : [0xFF, 0xE0, 0, 2, 0, 0, 0, 0, 0]
        }
        #expect(endless == nil && reads < 20_000)
    }

    @Test func aPNGStatesItsSides() throws {
        let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        func png(_ chunk: String, width: [UInt8] = [0, 0, 0x07, 0x80]) -> [UInt8] {
            joined(signature, [0, 0, 0, 13], Array(chunk.utf8), width, [0, 0, 0x04, 0x38])
        }
        let usual = try #require(PictureHeader(png("IHDR")))
        #expect(usual.width == 1_920 && usual.height == 1_080 && usual.isPNG && usual.isCommon)
        #expect(PictureHeader(png("CgBI"))?.isCommon == false)
        let none = try #require(PictureHeader(png("IHDR", width: [0, 0, 0, 0])))
        #expect(!none.hasPossibleSides)
        #expect(PictureHeader(signature) == nil && PictureHeader([]) == nil)
    }
}
