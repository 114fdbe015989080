import Testing

@testable import Ledger

struct JobNotifierTests {
    @Test func whatIsNewWhileWorkersAreToldIsToldAfterwards() {
        let notifier = JobNotifier()
        #expect(notifier.begin())
        #expect(!notifier.begin())
        #expect(!notifier.begin())
        #expect(notifier.end(), "the second notification covers both calls")
        #expect(!notifier.end())
        #expect(notifier.begin())
        #expect(!notifier.end())
    }
}
