import Conversion

/// Whether a source ends where and as it should.
struct EndCheck {
    /// The length that the container states.
    let length: LengthPromise
    /// Whether sound may follow that length, because files were joined.
    private let mayFollowTheEnd: Bool
    /// Whether libav drops an incomplete last packet without a word.
    private let lacksIncompleteLast: Bool
    /// Bytes of an incomplete last packet.
    private(set) var partialBytes: Int64?
    /// Whether the container's own size or count extends past the end, once it was looked at.
    private var isCut: Bool?

    init(_ length: LengthPromise, _ traits: PacketTraits) {
        self.length = length
        mayFollowTheEnd = traits.mayFollowTheEnd
        lacksIncompleteLast = traits.lackIncompleteLast
    }

    /// Whether data after the promised length is not sound. `isJoined` if the source is known to consist of several
    /// streams, of which the first does not count the rest.
    func endsWhereItPromised(isJoined: Bool) -> Bool {
        length.exactFrames != nil && !mayFollowTheEnd && !isJoined
    }

    /// Whether nothing that was promised is missing after `frames`, and no sound can follow. `joinedFrames` is what the
    /// headers of joined files promise in all.
    func isComplete(after frames: Int64, isJoined: Bool, joinedFrames: Int64?) -> Bool {
        if let joinedFrames { return frames >= joinedFrames }
        return endsWhereItPromised(isJoined: isJoined) && length.shortfall(frames) == 0
    }

    /// Notes that the last packet is incomplete.
    mutating func notePartial(_ bytes: Int64) { partialBytes = bytes }

    /// Notes the end of a source of `size` bytes, of which packets held `given`.
    mutating func noteEnd(of size: Int64?, behind given: Int64) {
        if lacksIncompleteLast, let size, size > given { partialBytes = size - given }
    }

    /// Forgets how the source ended, because reading goes on elsewhere.
    mutating func goOn() { partialBytes = nil }

    /// Whether the container's own size or count extends past the end. `find` finds it, once; `nil` while the end is not
    /// known.
    mutating func isCut(_ find: () -> Bool?) -> Bool {
        if isCut == nil { isCut = find() }
        return isCut ?? false
    }
}
