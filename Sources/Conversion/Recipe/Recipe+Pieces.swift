extension Recipe {
    /// Checks what holds for outputs that are parts of the source: they follow each other on its clock, so that one at a
    /// time is written, and nothing changes that clock.
    func checkPieces() throws(RecipeError) {
        guard isSplit, let first = outputs.firstIndex(where: { $0.range != nil }) else { return }
        func refuse(_ path: String, _ reason: String) -> RecipeError { RecipeError(.valueNotAllowed, at: path, reason) }
        let place = "recipe.outputs[\(first)].range"
        guard timeline == nil else {
            throw refuse(place, "with a timeline, every output holds all of it")
        }
        guard sources.allSatisfy(\.ranges.isEmpty) else {
            throw refuse(place, "the source has ranges, too; give the ranges of the outputs only")
        }
        guard !damage.movesSound else {
            throw refuse(
                "recipe.damage",
                "\(damage.rawValue); after damage that is left out, outputs with ranges would come too early"
            )
        }
        var end = MediaTime.zero
        for (index, output) in outputs.enumerated() {
            let path = "recipe.outputs[\(index)]"
            guard output.waveform == nil else {
                throw refuse("\(path).waveform", "outputs with ranges have no waveforms; make them of the outputs")
            }
            guard let range = output.range else {
                throw RecipeError(.missingField, at: "\(path).range", "all outputs must have a range, or none")
            }
            guard !range.isEmpty else { throw refuse("\(path).range.to", "the range is empty: it also starts there") }
            guard range.start >= end else {
                let why = index == 0 ? "before the start of the source" : "before the end of the output before"
                throw refuse("\(path).range.from", "\(range.start) is \(why)")
            }
            guard try output.audioFormat(at: path).codec != .copy else {
                throw refuse("\(path).format.codec", "passthrough copies whole tracks; choose a codec to cut them")
            }
            guard output.loudness == nil else {
                throw refuse(
                    "\(path).loudness",
                    "is not measured for outputs with ranges; convert the outputs once more"
                )
            }
            guard output.replayGain == nil else {
                throw refuse(
                    "\(path).replayGain",
                    "is not measured for outputs with ranges; convert the outputs once more"
                )
            }
            end = range.end
        }
    }
}
