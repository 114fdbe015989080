import Conversion
import Foundation
import TestSupport
import Testing
import System

@testable import PumpRoom

/// Messages over a real pair of sockets.
@Suite struct DatagramTests {
    private let ours: SharedDescriptor
    private let theirs: SharedDescriptor

    init() throws {
        let pair = try Datagram.pair()
        (ours, theirs) = (pair.ours, pair.theirs)
    }

    private func receive(takesDescriptors: Bool = true) -> Datagram.Received {
        var buffer = [UInt8](repeating: 0, count: Datagram.byteLimit)
        return Datagram.receive(from: theirs.number, into: &buffer, takesDescriptors: takesDescriptors, waits: false)
    }

    private func send(_ bytes: [UInt8], _ descriptors: [Int32] = []) -> Bool {
        if case .sent = Datagram.send(bytes, descriptors, to: ours.number, waits: false) { true } else { false }
    }

    @Test func messagesStayApartAndInOrder() throws {
        #expect(send([1, 2, 3]))
        #expect(send([4]))
        for expected: [UInt8] in [[1, 2, 3], [4]] {
            guard case .message(let bytes, let descriptors) = receive() else {
                Issue.record("no message")
                return
            }
            #expect(bytes == expected)
            #expect(descriptors.isEmpty)
        }
        guard case .nothing = receive() else {
            Issue.record("a message from nowhere")
            return
        }
    }

    @Test func descriptorsArriveOpenAndAreNotInherited() throws {
        let pipe = try Pipe.open()
        #expect(send([1], [pipe.reading.number, pipe.writing.number]))
        guard case .message(_, let descriptors) = receive() else {
            Issue.record("no message")
            return
        }
        try #require(descriptors.count == 2)
        #expect(descriptors.allSatisfy { fcntl($0.number, F_GETFD) == FD_CLOEXEC })
        #expect(write(descriptors[1].number, [7], 1) == 1)
        var byte: UInt8 = 0
        #expect(read(pipe.reading.number, &byte, 1) == 1)
        #expect(byte == 7)
    }

    @Test func largestMessageGoesThroughWhole() {
        let bytes = (0..<Datagram.byteLimit).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        #expect(send(bytes))
        guard case .message(let got, _) = receive() else {
            Issue.record("no message")
            return
        }
        #expect(got == bytes)
    }

    @Test func unexpectedDescriptorsBreakTheMessage() {
        #expect(send([1], [0]))
        guard case .broken = receive(takesDescriptors: false) else {
            Issue.record("taken")
            return
        }
    }

    @Test func fullSocketSaysSoInsteadOfWaiting() {
        var count = 0
        while send([UInt8](repeating: 0, count: 100_000)), count < 1_000 { count += 1 }
        #expect((1..<1_000).contains(count))
        guard case .full = Datagram.send([1], to: ours.number, waits: false) else {
            Issue.record("not full")
            return
        }
    }

    @Test func whatAnEndSaidBeforeItsDeathIsHeardAfterIt() throws {
        var pair: (ours: SharedDescriptor, theirs: SharedDescriptor)? = try Datagram.pair()
        let listener = try #require(pair?.ours)
        // Because of the unread message, the kernel reports an error before the queued message.
        guard let speaker = pair?.theirs.number, case .sent = Datagram.send([9], to: listener.number, waits: false),
            case .sent = Datagram.send([1, 2], to: speaker, waits: false)
        else {
            Issue.record("not sent")
            return
        }
        pair = nil
        var buffer = [UInt8](repeating: 0, count: Datagram.byteLimit)
        guard
            case .message([1, 2], _) = Datagram.receive(
                from: listener.number,
                into: &buffer,
                takesDescriptors: false,
                waits: false
            ),
            case .ended = Datagram.receive(from: listener.number, into: &buffer, takesDescriptors: false, waits: false)
        else {
            Issue.record("its last words are lost")
            return
        }
    }
}
