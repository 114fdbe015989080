/// AC-3 and E-AC-3 without a container.
struct AC3: SourceRules {
    let frameSyntax: FrameSyntax? = .ac3
    let statesTimes = false
}
