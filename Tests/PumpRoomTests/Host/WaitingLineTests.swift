import Testing

@testable import PumpRoom

@Suite struct WaitingLineTests {
    @Test func lineKeepsItsOrderThroughEveryChange() {
        var (line, model) = (WaitingLine<Int>(), [Int]())
        var next = 0
        // A fixed mixture that lets the line grow, shrink and run empty.
        for step in 0..<5_000 {
            switch step * 7 % 11 {
            case 0...4 where step % 700 < 400:
                line.append(next)
                model.append(next)
                next += 1
            case 5:
                line.prepend([-step, -step - 1])
                model = [-step, -step - 1] + model
            case 6:
                let wanted = model.isEmpty ? 0 : model[step % model.count]
                #expect(line.remove { $0 == wanted } == (model.isEmpty ? nil : wanted))
                if let place = model.firstIndex(of: wanted) { model.remove(at: place) }
            default: #expect(line.popFirst() == (model.isEmpty ? nil : model.removeFirst()))
            }
            #expect(line.isEmpty == model.isEmpty)
        }
        #expect(line.removeAll() == model)
        #expect(line.isEmpty)
    }

    @Test func lineReleasesRemovedElements() {
        final class Guest {}
        var line = WaitingLine<Guest>()
        var first: Guest? = Guest()
        weak let gone = first
        if let guest = first { line.append(guest) }
        line.append(Guest())
        first = nil
        _ = line.popFirst()
        #expect(gone == nil)
    }
}
