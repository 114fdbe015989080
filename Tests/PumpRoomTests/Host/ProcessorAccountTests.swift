import Testing

@testable import PumpRoom

/// What jobs are charged of the processor time that the kernel counts for their room.
struct ProcessorAccountTests {
    private static let century: Int64 = 3_155_760_000_000_000

    private func account(from start: Int64 = 30_000) -> ProcessorAccount {
        var account = ProcessorAccount()
        account.begin(counted: start, claimed: start)
        return account
    }

    @Test func anHonestRoomIsBelieved() {
        var account = account()
        let first = account.charge(500_000, counted: 531_000, elapsed: .seconds(1))
        // The next job is under way when the answer is read.
        let second = account.charge(200_000, counted: 780_000, elapsed: .seconds(1))
        #expect(first == 500_000 && second == 200_000)
    }

    @Test func aCenturyIsWhatTheKernelCounted() {
        var account = account()
        let first = account.charge(Self.century, counted: 90_000, elapsed: .seconds(1))
        let second = account.charge(Self.century, counted: 90_000, elapsed: .seconds(1))
        #expect(first == 60_000 && second == 0)
    }

    @Test func aRoomThatClaimsNothingIsChargedAllButTheSlack() {
        var account = account()
        var sum: Int64 = 0
        for number in 1...1_000 {
            sum += account.charge(0, counted: 30_000 + Int64(number) * 5_000, elapsed: .zero) ?? 0
        }
        #expect(sum == 5_000_000 - ProcessorAccount.slack)
    }

    @Test func anImpossibleClaimIsTheKernelsCount() {
        var account = account()
        let charged = account.charge(nil, counted: 80_000, elapsed: .zero)
        #expect(charged == 50_000)
    }

    @Test func whatARoomClaimsToHaveUsedBeforeFreesNoJob() {
        var account = ProcessorAccount()
        account.begin(counted: 30_000, claimed: Self.century)
        account.begin(counted: 5_000_000, claimed: Self.century)
        let charged = account.charge(nil, counted: 1_030_000, elapsed: .zero)
        #expect(charged == 1_000_000)
    }

    @Test func withoutACountTimeIsTheBound() {
        var account = account()
        let few = account.charge(5, counted: nil, elapsed: .seconds(2))
        let many = account.charge(Self.century, counted: nil, elapsed: .seconds(2))
        let unknown = account.charge(nil, counted: nil, elapsed: .seconds(2))
        #expect(few == 5 && many == 9_000_000 && unknown == nil)
    }
}
