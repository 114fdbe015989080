import CLibAV
import Conversion

extension Demuxer {
    /// The chapters, in the order of the file. Where the container states no end, a chapter ends where the next one
    /// begins, or at `last`.
    func chapters(upTo last: MediaTime?) -> [(start: MediaTime, end: MediaTime, title: String?)] {
        let stated = (0..<Int(context!.pointee.nb_chapters)).compactMap {
            index -> (start: MediaTime, end: MediaTime?, title: String?)? in
            let chapter = context!.pointee.chapters[index]!.pointee
            guard let scale = chapter.time_base.timescale else { return nil }
            func time(_ ticks: Int64) -> MediaTime {
                MediaTime(value: ticks, timescale: scale).multiplied(by: Int64(chapter.time_base.num))
            }
            let title = pairs(of: chapter.metadata).first { $0.0 == "title" && !$0.1.isEmpty }?.1
            // The least number stands for none.
            return (time(chapter.start), chapter.end == .min ? nil : time(chapter.end), title)
        }
        var next: [MediaTime: MediaTime] = [:]
        let starts = Set(stated.map(\.start)).sorted()
        for (start, later) in zip(starts, starts.dropFirst()) { next[start] = later }
        return stated.map { start, end, title in
            (start, end ?? next[start] ?? max(start, last ?? start), title)
        }
    }
}
