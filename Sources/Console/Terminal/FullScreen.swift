import Glibc

/// The terminal in full-screen mode: alternate screen, no cursor, single keys. `leave` restores its state.
package final class FullScreen {
    private let outlet: Outlet
    private var before = termios()
    private var isOurs = false

    /// The alternate screen preserves the shell's screen. The modes hide the cursor, turn off line wrap and turn on
    /// bracketed paste.
    private static let entering = "\u{1B}[?1049h"
    private static let modes = "\u{1B}[?25l\u{1B}[?7l\u{1B}[?2004h"
    private static let leaving: StaticString = "\u{1B}[?2026l\u{1B}[0m\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"

    package init(outlet: Outlet) { self.outlet = outlet }

    package var size: ScreenSize { ScreenSize(columns: outlet.width, rows: outlet.height) }

    /// Switches the terminal to full-screen mode.
    package func enter() throws(Outlet.Failure) {
        guard tcgetattr(STDIN_FILENO, &before) == 0 else { throw Outlet.Failure(errorNumber: errno) }
        try takeKeys()
        isOurs = true
        CrashRestore.arm(before, sending: Self.leaving)
        try outlet.write(Self.entering + Self.modes)
    }

    /// Sets the modes again, after a shell had the terminal and changed them.
    package func renew() throws(Outlet.Failure) {
        guard isOurs else { return }
        try takeKeys()
        try outlet.write(Self.modes)
    }

    package func write(_ frame: String) throws(Outlet.Failure) {
        if !frame.isEmpty { try outlet.write(frame) }
    }

    /// Restores the terminal. Discards unread keys, because they were not meant for the shell.
    package func leave() {
        guard isOurs else { return }
        isOurs = false
        do throws(Outlet.Failure) {
            try outlet.write(Self.leaving.description)
        } catch {
            // The terminal is gone, and its screen with it.
        }
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
        CrashRestore.disarm()
    }

    /// Keys arrive one by one, without echo. Ctrl-C and Ctrl-Z still send signals; Ctrl-S must not stop the output.
    private func takeKeys() throws(Outlet.Failure) {
        var raw = before
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ECHONL | IEXTEN)
        raw.c_lflag |= tcflag_t(ISIG)
        raw.c_iflag &= ~tcflag_t(IXON | ICRNL | INLCR | IGNCR | ISTRIP)
        withUnsafeMutableBytes(of: &raw.c_cc) { letters in
            letters[Int(VMIN)] = 1
            letters[Int(VTIME)] = 0
        }
        guard tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0 else { throw Outlet.Failure(errorNumber: errno) }
    }
}

/// Restores the terminal when the process crashes, so that a bug does not leave the user a shell without echo.
private enum CrashRestore {
    /// For the signal handler, which may neither allocate nor lock: set before it is installed, and never freed.
    private nonisolated(unsafe) static var modes: UnsafeMutablePointer<termios>?
    private nonisolated(unsafe) static var text: UnsafePointer<UInt8>?
    private nonisolated(unsafe) static var length = 0
    private static let signals = [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV]

    static func arm(_ before: termios, sending words: StaticString) {
        let kept = modes ?? .allocate(capacity: 1)
        kept.initialize(to: before)
        (modes, text, length) = (kept, words.utf8Start, words.utf8CodeUnitCount)
        for number in signals {
            signal(number) { number in
                if let text = CrashRestore.text { _ = Glibc.write(STDOUT_FILENO, text, CrashRestore.length) }
                if let modes = CrashRestore.modes { tcsetattr(STDIN_FILENO, TCSANOW, modes) }
                Glibc.signal(number, SIG_DFL)
                raise(number)
            }
        }
    }

    static func disarm() { for number in signals { signal(number, SIG_DFL) } }
}
