import CLibAV

/// How to return to a packet whose place or time is known.
extension Demuxer {
    /// A way to make libav, or what reads in its place, continue at a packet or a little before it.
    enum Way {
        /// Our own walk along bare frames continues at a byte.
        case frame(Int64)
        /// libav seeks to a time.
        case time(Int64)
        /// libav continues at a byte.
        case byte(Int64)
        /// libav forgets the page that it has read, and continues at a byte.
        case page(Int64)
    }

    /// The ways that may lead to a packet, the most promising first.
    func ways(to key: PacketKey, of stream: Int) -> [Way] {
        if framed != nil { return key.place.map { [.frame($0)] } ?? [] }
        let times = key.time.map { [Way.time($0)] } ?? []
        if walks[stream] != nil { return times }
        return switch rules.packets.landing {
        case .byTime: times + (key.place.map { [.byte($0)] } ?? [])
        case .byByte: (key.place.map { [.byte($0)] } ?? []) + times
        case .byPage: key.place.map { [.page($0)] } ?? []
        }
    }

    /// Goes one of the ways; `false` if libav refuses.
    func follow(_ way: Way, of stream: Int) throws -> Bool {
        do {
            switch way {
            case .frame(let place): framed?.move(to: place)
            case .time(let time): try seek(stream, to: time)
            case .byte(let place): try seek(toByte: place)
            case .page(let place):
                // Whatever libav answers, it forgets its pages.
                _ = av_seek_frame(context, Int32(stream), 0, AVSEEK_FLAG_BACKWARD)
                try seek(toByte: place)
            }
            return true
        } catch let error as LibAVError {
            if error.wasInterrupted || error.isOutOfMemory || source.failure != nil { throw error }
            return false
        }
    }
}
