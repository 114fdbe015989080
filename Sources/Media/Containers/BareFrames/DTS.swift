/// DTS without a container.
struct DTS: SourceRules {
    let statesTimes = false
}
