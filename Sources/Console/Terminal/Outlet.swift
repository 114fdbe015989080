import Glibc

/// Standard output or standard error, and what its destination can display.
package struct Outlet: Sendable {
    package let descriptor: Int32
    package let isTerminal: Bool
    let usesColour: Bool
    /// Whether block elements and other Unicode may be printed; otherwise only ASCII.
    package let usesUnicode: Bool
    /// With which characters to draw.
    package let drawingStyle: DrawingStyle
    private let fixedWidth: Int?
    private let barLine = BarLine()

    /// A failed write.
    package struct Failure: Error {
        package let errorNumber: Int32

        package init(errorNumber: Int32) { self.errorNumber = errorNumber }
    }

    /// When to use colour: the values of `--color`.
    package enum ColourChoice: String, Sendable, CaseIterable {
        case auto, always, never

        /// Reads `--color` from words that are not parsed yet, for help pages and for usage errors.
        package init(in words: [String?]) {
            let said = words.enumerated().compactMap { place, word -> String? in
                if word == "--color" { return place + 1 < words.count ? words[place + 1] : nil }
                return word?.hasPrefix("--color=") == true ? word.map { String($0.dropFirst("--color=".count)) } : nil
            }
            self = said.last.flatMap { ColourChoice(rawValue: $0.lowercased()) } ?? .auto
        }
    }

    package init(descriptor: Int32, colour: ColourChoice, environment: [String: String]) {
        self.descriptor = descriptor
        let isTerminal = isatty(descriptor) == 1
        self.isTerminal = isTerminal
        func isSet(_ name: String) -> Bool { environment[name].map { !$0.isEmpty } ?? false }
        usesColour =
            switch colour {
            case .always: true
            case .never: false
            case .auto:
                !isSet("NO_COLOR") && (isSet("FORCE_COLOR") || isTerminal && environment["TERM"] != "dumb")
            }
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
        usesUnicode = locale.map { $0.uppercased().contains("UTF-8") || $0.uppercased().contains("UTF8") } ?? false
        drawingStyle = DrawingStyle(usesUnicode: usesUnicode, isPoor: environment["TERM"] == "linux")
        fixedWidth = environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    }

    /// Whether to wrap lines at `width`: on a terminal, or if COLUMNS is set. Programs get lines unwrapped.
    package var hasWidth: Bool { isTerminal || fixedWidth != nil }

    /// The present number of columns; 80 if unknown.
    package var width: Int {
        var size = winsize()
        if isTerminal, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 { return Int(size.ws_col) }
        return fixedWidth ?? 80
    }

    /// The present number of lines; 24 if unknown.
    package var height: Int {
        var size = winsize()
        if isTerminal, ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0 { return Int(size.ws_row) }
        return 24
    }

    /// Writes all of `text`. Erases a progress bar first.
    package func write(_ text: String) throws(Failure) { try barLine.write(text, writeAtOnce) }

    /// Draws a progress bar in place of the one that stands there. The next text erases it.
    package func draw(bar: String) {
        do throws(Failure) {
            try barLine.draw(bar, writeAtOnce)
        } catch {
            // The terminal is gone; the work goes on.
        }
    }

    /// Erases the progress bar, if there is one.
    package func eraseBar() {
        do throws(Failure) {
            try barLine.write("", writeAtOnce)
        } catch {
            // The terminal is gone, and the bar with it.
        }
    }

    private func writeAtOnce(_ text: String) throws(Failure) {
        var text = text
        let failure = text.withUTF8 { bytes in Outlet.write(bytes, to: descriptor) }
        if let failure { throw Failure(errorNumber: failure) }
    }

    private static func write(_ bytes: UnsafeBufferPointer<UInt8>, to descriptor: Int32) -> Int32? {
        var done = 0
        while done < bytes.count {
            let put = Glibc.write(descriptor, bytes.baseAddress! + done, bytes.count - done)
            if put >= 0 {
                done += put
            } else if errno == EAGAIN {
                // Another program left the terminal non-blocking; wait until it has drained.
                var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&waiting, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return nil
    }

    /// `text` in a colour, if colours are in use.
    package func paint(_ text: String, _ ink: Ink) -> String {
        usesColour ? "\u{1B}[\(ink.rawValue)m\(text)\u{1B}[0m" : text
    }
}

/// The meanings of colours. They use the 16 colours of the terminal's theme, which suit its background.
package enum Ink: String, Sendable {
    case strong = "1"
    case faint = "2"
    case bad = "31"
    case good = "32"
    case careful = "33"
    /// These have no fixed meaning: a user chose them for a context.
    case blue = "34"
    case magenta = "35"
    case cyan = "36"
    /// The cursor's line on a full screen.
    case chosen = "7"
}
