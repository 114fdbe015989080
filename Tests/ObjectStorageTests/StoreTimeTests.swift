import ObjectStorage
import Testing

struct StoreTimeTests {
    @Test(arguments: [
        (Int64(0), "19700101T000000Z"), (951_782_399, "20000228T235959Z"), (951_782_400, "20000229T000000Z"),
        (1_369_353_600, "20130524T000000Z"), (4_107_542_400, "21000301T000000Z"),
        (253_402_300_799, "99991231T235959Z"),
    ])
    func timesAreWrittenAndRead(seconds: Int64, text: String) {
        #expect(StoreTime(seconds: seconds).compact == text)
        #expect(StoreTime(iso8601: text)?.seconds == seconds)
    }

    @Test(arguments: [
        "2013-05-24T00:00:00Z", "2013-05-24T00:00:00.000Z", "2013-05-24T02:00:00+02:00", "2013-05-23T19:30:00-04:30",
        "2013-05-24T00:00:00UTC",
    ])
    func formsOfOtherProgramsAreRead(text: String) { #expect(StoreTime(iso8601: text)?.seconds == 1_369_353_600) }

    @Test func nanosecondsEndWhereTheNumbersDo() {
        #expect(StoreTime(iso8601: "2013-05-24T00:00:00.999Z")?.nanoseconds == 1_369_353_600_000_000_000)
        #expect(StoreTime(seconds: 253_402_300_799).nanoseconds == .max)
    }

    @Test(arguments: ["", "2013-05-24", "2013-13-24T00:00:00Z", "20130524T000000", "2013-05-24T00:00:xxZ", "T"])
    func otherTextsAreNoTimes(text: String) { #expect(StoreTime(iso8601: text) == nil) }

    @Test func datesOfHeadersAreRead() {
        #expect(StoreTime(httpDate: "Fri, 24 May 2013 00:00:00 GMT")?.seconds == 1_369_353_600)
        #expect(StoreTime(httpDate: "Fri, 24 Mai 2013 00:00:00 GMT") == nil)
        #expect(StoreTime(httpDate: "Fri, 24 May 2013 00:00:00") == nil)
    }
}
