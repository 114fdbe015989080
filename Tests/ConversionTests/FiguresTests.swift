import Testing

@testable import Conversion

/// Human-readable numbers, at the ends of their ranges.
struct FiguresTests {
    @Test func numbersAreGroupedInThousands() {
        #expect(Figures.grouped(0) == "0")
        #expect(Figures.grouped(999) == "999")
        #expect(Figures.grouped(1000) == "1,000")
        #expect(Figures.grouped(-1000) == "-1,000")
        #expect(Figures.grouped(-999) == "-999")
        #expect(Figures.grouped(Int64.max) == "9,223,372,036,854,775,807")
        #expect(Figures.grouped(Int64.min) == "-9,223,372,036,854,775,808")
        #expect(Figures.count(1, "frame") == "1 frame")
        #expect(Figures.count(0, "frame") == "0 frames")
        #expect(Figures.count(8_488_368, "frame") == "8,488,368 frames")
    }

    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (1049, "1.0 kB"), (1050, "1.1 kB"), (999_949, "999.9 kB"),
        (999_950, "1.0 MB"), (122_900_000, "122.9 MB"), (999_950_000_000, "1.0 TB"), (Int64.max, "9.2 EB"),
        (-1, "-1 B"),
    ])
    func bytesHaveOneDecimal(count: Int64, text: String) {
        #expect(Figures.bytes(count) == text)
    }

    @Test func ratesHaveAsManyDecimalsAsTheyNeed() {
        #expect(Figures.hertz(999) == "999 Hz")
        #expect(Figures.hertz(1000) == "1 kHz")
        #expect(Figures.hertz(11_025) == "11.025 kHz")
        #expect(Figures.hertz(44_100) == "44.1 kHz")
        #expect(Figures.hertz(100_000) == "100 kHz")
        #expect(Figures.bitRate(500) == "500")
        #expect(Figures.bitRate(24_500) == "24.5k")
        #expect(Figures.bitRate(256_000) == "256k")
    }

    @Test func speedHasTwoOrThreeDigits() {
        #expect(Figures.speed(0) == "0.00x")
        #expect(Figures.speed(0.314) == "0.31x")
        #expect(Figures.speed(4.21) == "4.2x")
        #expect(Figures.speed(9.96) == "10.0x")
        #expect(Figures.speed(182.4) == "182x")
        #expect(Figures.speed(12_345) == "12,345x")
        for nothing in [Double.infinity, .nan, -1, 1e300] { #expect(Figures.speed(nothing) == "-") }
    }

    @Test func clockShowsWholeSeconds() {
        #expect(Figures.clock(seconds: 0) == "0:00")
        #expect(Figures.clock(seconds: 59.99) == "0:59")
        #expect(Figures.clock(seconds: 4000) == "1:06:40")
        #expect(Figures.clock(seconds: -3) == "0:00")
        #expect(Figures.clock(seconds: 999_999) == "277:46:39")
        for nothing in [Double.infinity, .nan, 1e300] { #expect(Figures.clock(seconds: nothing) == "-") }
    }

    @Test func lengthShowsHundredthsBelowAMinute() {
        #expect(Figures.length(frames: 0, rate: 48_000) == "0:00")
        #expect(Figures.length(frames: 1, rate: 48_000) == "0:00")
        #expect(Figures.length(frames: 156_000, rate: 48_000) == "0:03.25")
        #expect(Figures.length(frames: 2_879_999, rate: 48_000) == "1:00")
        #expect(Figures.length(frames: 192_000_000, rate: 48_000) == "1:06:40")
        #expect(Figures.length(frames: .max, rate: 1) == "-")
        #expect(Figures.length(frames: -1, rate: 48_000) == "-")
        #expect(Figures.length(frames: 1, rate: 0) == "-")
    }

    @Test func durationGrowsCoarser() {
        #expect(Figures.duration(seconds: 0) == "0.00 s")
        #expect(Figures.duration(seconds: 0.0349) == "0.03 s")
        #expect(Figures.duration(seconds: 0.994) == "0.99 s")
        #expect(Figures.duration(seconds: 0.997) == "1.0 s")
        #expect(Figures.duration(seconds: 59.94) == "59.9 s")
        #expect(Figures.duration(seconds: 59.96) == "1 min 0 s")
        #expect(Figures.duration(seconds: 723) == "12 min 3 s")
        #expect(Figures.duration(seconds: 11_100) == "3 h 5 min")
        for nothing in [Double.infinity, .nan, -1, 1e300] { #expect(Figures.duration(seconds: nothing) == "-") }
    }

    @Test func decimalsAreRounded() {
        #expect(Figures.decimals(3.5, 2) == "3.50")
        #expect(Figures.decimals(0.999, 2) == "1.00")
        #expect(Figures.decimals(-0.001, 2) == "0.00")
        #expect(Figures.decimals(-1.5, 1) == "-1.5")
        #expect(Figures.decimals(7, 0) == "7")
    }
}
