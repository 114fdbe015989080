/// Numbers for people: with units, and without meaningless digits.
package enum Figures {
    /// `8,488,368`
    package static func grouped(_ number: some BinaryInteger) -> String {
        let digits = Array(number.magnitude.description)
        var text = number < 0 ? "-" : ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return text
    }

    /// `1 frame`, `8,488,368 frames`
    package static func count(_ number: some BinaryInteger, _ noun: String) -> String {
        "\(grouped(number)) \(Plural.form(noun, for: number))"
    }

    /// `1 output is`, `12 outputs are`: the beginning of a sentence.
    package static func subject(_ number: some BinaryInteger, _ noun: String) -> String {
        "\(count(number, noun)) \(Plural.be(number))"
    }

    /// `831 B`, `12.4 kB`, `122.9 MB`: decimal units, as on disks.
    package static func bytes(_ count: Int64) -> String {
        guard count >= 1000 else { return "\(count) B" }
        var (value, unit) = (Double(count) / 1000, 0)
        let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
        // 999.95 would become 1000.0.
        while value >= 999.95, unit < units.count - 1 { (value, unit) = (value / 1000, unit + 1) }
        return "\(decimals(value, 1)) \(units[unit])"
    }

    /// `44.1 kHz`, `11.025 kHz`, `800 Hz`
    package static func hertz(_ rate: Int) -> String { rate < 1000 ? "\(rate) Hz" : "\(thousandths(rate)) kHz" }

    /// `256k`, `24.5k`, `500`: bits per second.
    package static func bitRate(_ rate: Int) -> String { rate < 1000 ? "\(rate)" : "\(thousandths(rate))k" }

    /// `182x`, `4.2x`, `0.31x`
    package static func speed(_ factor: Double) -> String {
        guard factor.isFinite, factor >= 0, factor < 1e15 else { return "-" }
        return (factor >= 10 ? grouped(Int64(factor.rounded())) : decimals(factor, factor >= 1 ? 1 : 2)) + "x"
    }

    /// `1:06:40`, `0:08`: whole seconds.
    package static func clock(seconds: Double) -> String {
        guard seconds.isFinite, seconds < 1e12 else { return "-" }
        return MediaTime(value: Int64(max(0, seconds)), timescale: 1).description
    }

    /// `1:06:40`, and with hundredths below a minute: `0:03.25`.
    package static func length(frames: Int64, rate: Int) -> String {
        let exact = (Double(frames) / Double(rate) * 100).rounded()
        guard rate > 0, frames >= 0, exact < 1e15 else { return "-" }
        let hundredths = Int64(exact)
        if hundredths < 6000 { return MediaTime(value: hundredths, timescale: 100).description }
        return MediaTime(value: (hundredths + 50) / 100, timescale: 1).description
    }

    /// `0.03 s`, `21.9 s`, `12 min 3 s`, `3 h 5 min`: how long something took.
    package static func duration(seconds: Double) -> String {
        guard seconds.isFinite, seconds >= 0, seconds < 1e15 else { return "-" }
        if seconds < 0.995 { return "\(decimals(seconds, 2)) s" }
        if seconds < 59.95 { return "\(decimals(seconds, 1)) s" }
        let whole = Int64(seconds.rounded())
        if whole < 3600 { return "\(whole / 60) min \(whole % 60) s" }
        return "\(whole / 3600) h \(whole % 3600 / 60) min"
    }

    /// `3.50`: rounded to `places` decimals, without a locale.
    package static func decimals(_ value: Double, _ places: Int) -> String {
        let scale = (0..<places).reduce(1.0) { product, _ in product * 10 }
        let scaled = (abs(value) * scale).rounded()
        guard scaled < 1e15 else { return "\(value)" }
        let digits = "\(Int64(scaled))"
        let padded = String(repeating: "0", count: max(0, places + 1 - digits.count)) + digits
        let sign = value < 0 && scaled > 0 ? "-" : ""
        return places == 0 ? sign + padded : "\(sign)\(padded.dropLast(places)).\(padded.suffix(places))"
    }

    /// In thousands, with as many decimals as needed.
    private static func thousandths(_ number: Int) -> String {
        var text = decimals(Double(number) / 1000, 3)
        while text.last == "0" { text.removeLast() }
        return text.last == "." ? String(text.dropLast()) : text
    }
}
