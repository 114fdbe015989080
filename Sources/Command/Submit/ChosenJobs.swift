import Conversion
import Ledger

/// The items of a plan that become jobs. A million of them take twenty bytes each, as long as most have no earlier job.
struct ChosenJobs: RandomAccessCollection, Sendable {
    /// What few jobs have.
    private struct Further {
        let policies: [Recipe.ConflictPolicy]
        let predecessor: Int64
    }

    /// The policies of almost all jobs, which share the array.
    private let usualPolicies: [Recipe.ConflictPolicy]
    private var places: [UInt32] = []
    private var stamps: [SourceStamp] = []
    private var others: [Int: Further] = [:]
    /// Stands for a stamp that is not known: no file has this length.
    private static let noStamp = SourceStamp(bytes: .min, modified: .min)

    init(usualPolicies: [Recipe.ConflictPolicy]) { self.usualPolicies = usualPolicies }

    var startIndex: Int { 0 }
    var endIndex: Int { places.count }

    subscript(place: Int) -> SubmitSurvey.Chosen {
        let other = others[place]
        return SubmitSurvey.Chosen(
            place: Int(places[place]),
            policies: other?.policies ?? usualPolicies,
            predecessor: other?.predecessor ?? 0,
            stamp: stamps[place] == Self.noStamp ? nil : stamps[place]
        )
    }

    /// Makes room for all items of a plan, so that the list does not grow by copies. Room that is not used takes no memory.
    mutating func reserveCapacity(_ count: Int) {
        places.reserveCapacity(count)
        stamps.reserveCapacity(count)
    }

    mutating func append(_ job: SubmitSurvey.Chosen) {
        if job.predecessor != 0 || job.policies != usualPolicies {
            others[places.count] = Further(policies: job.policies, predecessor: job.predecessor)
        }
        places.append(UInt32(job.place))
        stamps.append(job.stamp ?? Self.noStamp)
    }
}
