extension Recipe {
    /// Checks that the packets of the sources can be copied, as far as the recipe tells.
    func checkCopying() throws(RecipeError) {
        guard copyPackets else { return }
        func refuse(_ reason: String) -> RecipeError { RecipeError(.valueNotAllowed, at: "recipe.copyPackets", reason) }
        guard let timeline else { throw refuse("needs a timeline") }
        if let reason = timeline.reasonAgainstCopying { throw refuse(reason) }
        guard outputs.count == 1, outputs[0].waveform == nil else {
            throw refuse("copied packets are not decoded, so they are the only output")
        }
        guard outputs[0].loudness == nil, outputs[0].replayGain == nil else {
            throw refuse("the loudness of copied packets is neither measured nor changed")
        }
        let codec = try outputs[0].codec
        guard [.aac, .copy].contains(codec) else { throw refuse("needs an output of AAC, not of \(codec.title)") }
    }
}
