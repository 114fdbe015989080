import Testing

@testable import Ledger

struct WorkNewsTests {
    @Test func whatIsNewWhileWorkersAreToldIsToldAfterwards() {
        let news = WorkNews()
        #expect(news.begin())
        #expect(!news.begin())
        #expect(!news.begin())
        #expect(news.end(), "the second notification covers both calls")
        #expect(!news.end())
        #expect(news.begin())
        #expect(!news.end())
    }
}
