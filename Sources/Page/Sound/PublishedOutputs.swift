import Conversion
import Ledger

/// The outputs that a job has published, as far as the coordinator serves them: to be stored, heard and seen.
struct PublishedOutputs {
    let job: JobSummary
    let recipe: Recipe
    /// The roots whose outputs a browser may get.
    let downloads: Set<String>

    /// The extensions of sound that browsers play.
    private static let played: Set<String> = [
        "aac", "flac", "m4a", "mp3", "mp4", "oga", "ogg", "opus", "wav", "webm",
    ]
    private static let most = 4
    /// Bytes of peaks that a page reads by itself: those of three hours, as they are usually made.
    private static let mostPeaks: Int64 = 4 << 20

    /// An output by its place in the recipe, from 0; `nil` if it is not available.
    func file(_ place: Int) -> (link: PageLink, bytes: Int64)? {
        guard job.state == .completed, recipe.outputs.indices.contains(place) else { return nil }
        let location = recipe.outputs[place].location
        let root = String(location.prefix { $0 != ":" })
        guard root.utf8.count < location.utf8.count, downloads.contains(root) else { return nil }
        let further = job.further.indices.contains(place - 1) ? job.further[place - 1]?.bytes : nil
        guard let bytes = place == 0 ? job.digest.flatMap({ _ in job.bytes }) : further else { return nil }
        return (PageLink(["jobs", "\(job.job)", "outputs", "\(place + 1)"]), bytes)
    }

    func download(_ place: Int) -> HTML {
        guard let file = file(place) else { return "" }
        return "<a class=\"b\" href=\"\(file.link)\" download>Download \(Figures.bytes(file.bytes))</a>"
    }

    /// The outputs that a browser plays, and pictures of sound.
    var players: HTML {
        var parts: [HTML] = []
        let peaks = self.peaks
        for (place, output) in recipe.outputs.enumerated() where parts.count < Self.most {
            guard let link = file(place)?.link else { continue }
            let name = LocationText.name(output.location)
            if output.waveform != nil {
                if place == peaks {
                    parts.append(
                        """
                        <div class="wave" hidden><p class="lab">Output</p><canvas role="img" aria-label="The waveform of the output" \
                        data-peaks="\(link)"></canvas></div>
                        """
                    )
                }
                guard Recipe.Waveform.Kind(ofLocation: output.location)?.isPicture == true else { continue }
                parts.append("<img src=\"\(link)\" alt=\"The sound as a picture: \(name)\" loading=\"lazy\">")
            } else if isPlayed(output) {
                parts.append(
                    """
                    <p class="soft"><bdi>\(name)</bdi></p><audio controls preload="none" src="\(link)" aria-label="\(name)"></audio>
                    """
                )
            }
        }
        return .all(parts)
    }

    /// The place of the output whose peaks a script draws; `nil` if there is none.
    var peaks: Int? {
        recipe.outputs.indices.first { place in
            let output = recipe.outputs[place]
            let isData = output.waveform != nil && Recipe.Waveform.Kind(ofLocation: output.location) == .dat
            return isData && (file(place).map { $0.bytes <= Self.mostPeaks } ?? false)
        }
    }

    private func isPlayed(_ output: Recipe.Output) -> Bool {
        let name = LocationText.name(output.location)
        guard output.waveform == nil, let dot = name.lastIndex(of: ".") else { return false }
        return Self.played.contains(name[name.index(after: dot)...].lowercased())
    }

    /// Whether the first output is played.
    var playsFirst: Bool { recipe.outputs.first.map(isPlayed) == true && file(0) != nil }

    /// Whether a place in the source is at the same time in the output that is played first.
    var keepsTimes: Bool {
        guard playsFirst, recipe.timeline == nil, recipe.soundSources.count == 1 else { return false }
        guard recipe.outputs[0].range == nil else { return false }
        return recipe.sources[0].ranges.isEmpty && !recipe.damage.movesSound
    }
}
