extension Recipe {
    /// What an output shows of the sound: its peaks, as data in the formats of the BBC's audiowaveform or as a picture, or
    /// its frequencies, as a picture.
    ///
    /// The extension of the output's location selects the kind of file.
    public struct Waveform: Sendable, Hashable, Encodable {
        /// The kind of file.
        public enum Kind: String, Sendable, Hashable, CaseIterable {
            /// audiowaveform's binary data, version 2.
            case dat
            /// The same data as JSON.
            case json
            case svg, png

            /// Whether the output is a picture, and not data.
            public var isPicture: Bool { self == .svg || self == .png }

            /// As HTTP names it.
            public var mediaType: String {
                switch self {
                case .dat: "application/octet-stream"
                case .json: "application/json"
                case .svg: "image/svg+xml"
                case .png: "image/png"
                }
            }

            /// The kind that the extension of `location` names.
            public init?(ofLocation location: String) {
                guard let name = Recipe.Output.fileExtension(of: location) else { return nil }
                self.init(rawValue: name.lowercased())
            }
        }

        /// The colours of a picture.
        public enum Theme: String, Sendable, Hashable, Codable, CaseIterable {
            case light, dark
            /// No background, and colours that can be seen on a light and on a dark one.
            case transparent
        }

        /// How the frequencies of a spectrogram follow one another from below.
        public enum FrequencyScale: String, Sendable, Hashable, Codable, CaseIterable {
            /// As people hear distances between tones: nearly linear below 1 kHz, and logarithmic above.
            case mel
            case linear
        }

        /// For `samplesPerPixel`.
        public static let zooms = 2...1 << 24
        /// audiowaveform's default.
        public static let usualZoom = 256
        public static let widths = 16...16_384
        public static let heights = 16...4_096
        public static let usualWidth = 1_200
        public static let usualHeight = 200
        public static let usualSpectrogramHeight = 400
        /// The most pixels of a spectrogram, which are all in memory: 3840 by 2160.
        public static let spectrogramPixels = 3_840 * 2_160
        /// The most pixels of all spectrograms of a recipe, which are in memory together.
        public static let allSpectrogramPixels = 4 * spectrogramPixels

        /// The frames that each pair of a least and a greatest sample stands for; `nil` for `usualZoom`. For data only.
        public var samplesPerPixel: Int?
        /// 8 or 16 bits for each value; `nil` for 8. For data only.
        public var bits: Int?
        /// Whether each channel has peaks of its own. If not, the peaks are those of the mean of all channels.
        public var splitsChannels: Bool
        /// In pixels; `nil` for `usualWidth`. For pictures only.
        public var width: Int?
        /// In pixels, for all channels together; `nil` for `usualHeight` or `usualSpectrogramHeight`. For pictures only.
        public var height: Int?
        /// `nil` for `light`. For pictures only.
        public var theme: Theme?
        /// Shows the frequencies of the sound, and not its peaks; `nil` for peaks. For PNG only.
        public var spectrogram: FrequencyScale?

        /// Of a picture, in pixels.
        public var size: (width: Int, height: Int) {
            (width ?? Self.usualWidth, height ?? (spectrogram == nil ? Self.usualHeight : Self.usualSpectrogramHeight))
        }

        /// What is not given stays `nil`.
        public init(
            samplesPerPixel: Int? = nil,
            bits: Int? = nil,
            splitsChannels: Bool = false,
            width: Int? = nil,
            height: Int? = nil,
            theme: Theme? = nil,
            spectrogram: FrequencyScale? = nil
        ) {
            self.samplesPerPixel = samplesPerPixel
            self.bits = bits
            self.splitsChannels = splitsChannels
            self.width = width
            self.height = height
            self.theme = theme
            self.spectrogram = spectrogram
        }
    }

    /// The outputs that hold sound.
    public var soundOutputs: [Output] { outputs.filter { $0.waveform == nil } }

    /// The recipe for the outputs at `places` alone.
    ///
    /// If only waveforms are left, the outputs with sound stay in front of them: a waveform shows what those hold. They
    /// then have no destination.
    public func reduced(to places: [Int]) -> Recipe {
        var recipe = self
        recipe.outputs = places.map { outputs[$0] }
        if recipe.soundOutputs.isEmpty, !places.isEmpty { recipe.outputs = soundOutputs + recipe.outputs }
        return recipe
    }

    /// Whether `count` destinations fit the outputs: one for each, or one for each waveform and none for the others.
    public func fits(destinations count: Int) -> Bool {
        count > 0 && (count == outputs.count || count == outputs.count - soundOutputs.count)
    }
}

extension Recipe.Waveform: Decodable {
    private enum Field: String, CodingKey, CaseIterable {
        case samplesPerPixel, bits, splitsChannels, width, height, theme, spectrogram
    }

    /// Decodes strictly.
    public init(from decoder: any Decoder) throws {
        let fields = try StrictFields(decoder, Field.self)
        self.init(
            samplesPerPixel: try fields.optional(.samplesPerPixel),
            bits: try fields.optional(.bits),
            splitsChannels: try fields.optional(.splitsChannels) ?? false,
            width: try fields.optional(.width),
            height: try fields.optional(.height),
            theme: try fields.word(.theme),
            spectrogram: try fields.word(.spectrogram)
        )
    }
}

extension Recipe {
    /// Checks an output that is a waveform.
    func check(_ waveform: Waveform, of output: Output, at path: String) throws(RecipeError) {
        func refuse(_ field: String, _ reason: String) -> RecipeError {
            RecipeError(.valueNotAllowed, at: "\(path).\(field)", reason)
        }
        guard let kind = Waveform.Kind(ofLocation: output.location) else {
            let known = Waveform.Kind.allCases.map { ".\($0.rawValue)" }.joined(separator: ", ")
            throw refuse("location", "the extension of a waveform must be one of \(known)")
        }
        let ofSound: [(field: String, isSet: Bool)] = [
            ("preset", output.preset != nil), ("format", output.format != nil), ("loudness", output.loudness != nil),
            ("replayGain", output.replayGain != nil), ("tags", !output.tags.isEmpty),
            ("ownPreset", output.ownPreset != nil), ("range", output.range != nil), ("spec", output.spec != nil),
        ]
        if let other = ofSound.first(where: \.isSet) {
            throw refuse(other.field, "a waveform holds no sound, so it has no such setting")
        }
        let others: [(field: String, isSet: Bool)] =
            kind.isPicture
            ? [("samplesPerPixel", waveform.samplesPerPixel != nil), ("bits", waveform.bits != nil)]
            : [("width", waveform.width != nil), ("height", waveform.height != nil), ("theme", waveform.theme != nil)]
        if let other = others.first(where: \.isSet) {
            let reason = kind.isPicture ? "is for data (.dat, .json), not for pictures" : "is for pictures (.svg, .png)"
            throw refuse("waveform.\(other.field)", reason)
        }
        if waveform.spectrogram != nil, kind != .png {
            throw refuse("waveform.spectrogram", "a spectrogram is a PNG: the extension must be .png")
        }
        if let bits = waveform.bits, bits != 8, bits != 16 {
            throw refuse("waveform.bits", "\(bits); allowed: 8, 16")
        }
        let numbers: [(field: String, value: Int?, allowed: ClosedRange<Int>)] = [
            ("samplesPerPixel", waveform.samplesPerPixel, Waveform.zooms), ("width", waveform.width, Waveform.widths),
            ("height", waveform.height, Waveform.heights),
        ]
        for number in numbers {
            guard let value = number.value, !number.allowed.contains(value) else { continue }
            let allowed = "\(number.allowed.lowerBound) to \(number.allowed.upperBound)"
            throw refuse("waveform.\(number.field)", "\(value); allowed: \(allowed)")
        }
        let (width, height) = waveform.size
        if waveform.spectrogram != nil, width * height > Waveform.spectrogramPixels {
            let reason = "a spectrogram has at most \(Waveform.spectrogramPixels) pixels, as 3840 by 2160 have"
            throw refuse("waveform.width", "\(width) by \(height); \(reason)")
        }
    }

    /// Checks all waveforms together.
    func checkWaveformsTogether() throws(RecipeError) {
        // Waveforms alone show a source as it is.
        if soundOutputs.isEmpty, timeline != nil {
            throw RecipeError(.valueNotAllowed, at: "recipe.timeline", "needs an output with sound")
        }
        var pixels = 0
        for (index, output) in outputs.enumerated() {
            guard let waveform = output.waveform, waveform.spectrogram != nil else { continue }
            pixels += waveform.size.width * waveform.size.height
            guard pixels > Waveform.allSpectrogramPixels else { continue }
            let reason = "all spectrograms of a recipe have at most \(Waveform.allSpectrogramPixels) pixels together"
            throw RecipeError(.valueNotAllowed, at: "recipe.outputs[\(index)].waveform.width", reason)
        }
    }
}
