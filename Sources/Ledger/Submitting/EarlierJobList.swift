/// The latest jobs of some destinations, in their order; `nil` where there is none. A destination without a job takes four
/// bytes: most submissions are new, and may be of millions.
package struct EarlierJobList: RandomAccessCollection, Sendable {
    /// For each destination, the place of its job in `jobs` plus one, or zero.
    private var places: [UInt32]
    private var jobs: [EarlierJob] = []

    /// `count` destinations of which no job is known.
    package init(count: Int = 0) { places = [UInt32](repeating: 0, count: count) }

    package var startIndex: Int { 0 }
    package var endIndex: Int { places.count }

    package subscript(place: Int) -> EarlierJob? { places[place] == 0 ? nil : jobs[Int(places[place]) - 1] }

    package mutating func set(_ job: EarlierJob, at place: Int) {
        jobs.append(job)
        places[place] = UInt32(jobs.count)
    }
}
