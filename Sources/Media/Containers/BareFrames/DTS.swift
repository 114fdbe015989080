/// DTS without a container.
struct DTS: SourceRules {
    let opening = OpeningTraits(statesTimes: false)
}
