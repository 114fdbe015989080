import Testing

@testable import Command

/// Which program opens a page on the desktop.
struct DesktopBrowserTests {
    @Test(
        arguments: [
            ([:], nil), (["DISPLAY": "", "BROWSER": "firefox"], nil),
            (["DISPLAY": ":0"], ["xdg-open", "a b"]), (["WAYLAND_DISPLAY": "wayland-0"], ["xdg-open", "a b"]),
            (["DISPLAY": ":0", "BROWSER": "firefox:chromium"], ["firefox", "a b"]),
            (["DISPLAY": ":0", "BROWSER": "firefox --new-window"], ["firefox", "--new-window", "a b"]),
            (["DISPLAY": ":0", "BROWSER": "open --url=%s -n"], ["open", "--url=a b", "-n"]),
            (["DISPLAY": ":0", "BROWSER": ":"], ["xdg-open", "a b"]),
        ] as [([String: String], [String]?)]
    )
    func programOfADesktop(environment: [String: String], words: [String]?) {
        #expect(DesktopBrowser.words(toOpen: "a b", environment) == words)
    }
}
