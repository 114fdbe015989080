import Console
import LedgerClient
import LocalCluster

/// `sluice open`: opens the page of the cluster in a browser.
enum OpenCommand {
    private static let onlyPrints = Switch("print", "print the link, and open no browser", in: .output)

    static let value: Subcommand = Subcommand(
        name: "open",
        summary: "open the page of your private cluster in a browser",
        discussion: [
            "Prints a link that logs a browser in, and opens it in the browser of your desktop, if there is one and "
                + "standard output is a terminal. The link works once, within five minutes. BROWSER names another browser "
                + "than the usual one. Browsers from Snap or Flatpak may not find the file that leads to the link: open the "
                + "link yourself in them.",
            "From another machine, forward the port of the link with \"ssh -L\", and open the link there.",
            "If a context, SLUICE_URL or --url names a coordinator, its page is opened instead, which asks for a token.",
        ],
        options: LedgerOptions.forms + [onlyPrints.form],
        examples: [
            Example(line: "sluice open", purpose: "look at your private cluster"),
            Example(line: "sluice open --print", purpose: "for a browser elsewhere"),
        ],
        run: run
    )

    @Sendable private static func run(_ invocation: Invocation, _ console: CommandOutput) throws -> ExitCode {
        if let coordinator = try LedgerOptions.coordinator(invocation) {
            try open(coordinator, invocation, console)
            return .success
        }
        guard try LedgerOptions.place(invocation) == .cluster else {
            throw Refusal(
                message: "the ledger in use is reached by its database, which has no page",
                hint: "name a coordinator with --url, or use \"--context \(LedgerChoice.privateContext)\"",
                exitCode: .configuration
            )
        }
        // Starts the cluster if it is not running.
        _ = try LedgerOptions.configuration(invocation)
        let cluster = try PrivateCluster(environment: invocation.environment)
        let link = try cluster.place.links.make(to: page(of: cluster))
        try console.print(link.url)
        console.say("the link works once, within five minutes")
        if show(link.file, invocation, console) {
            // Those of Snap and Flatpak may not read hidden folders, and nothing tells that they could not.
            console.say("if the browser does not find the file, open the link above in it")
        }
        return .success
    }

    /// The URL of the page, which the running cluster serves.
    private static func page(of cluster: PrivateCluster) throws -> String {
        if let url = cluster.place.links.url { return url }
        let state = cluster.runningState()
        guard let page = state?.page else {
            throw Refusal(
                message: "the private cluster was started by an earlier release, which serves no page",
                hint: "run \"sluice down\" first",
                exitCode: .configuration
            )
        }
        guard page.isServed else {
            throw Refusal(
                message: "the private cluster serves no page",
                hint: "\"sluice up --port 0\" has it serve one",
                exitCode: .configuration
            )
        }
        guard state?.pageHasAddress != false else {
            throw Refusal(
                message: "browsers cannot reach the page of the private cluster: this machine has no address 127.0.0.1",
                hint: "the page is at the socket \(cluster.place.pageSocket.printable), where a token logs in",
                exitCode: .configuration
            )
        }
        throw Refusal(
            message: "the page of the private cluster cannot be reached: its coordinator does not run",
            hint: "it is started again by itself; its log is in \(cluster.place.folder.printable)/log",
            exitCode: .unreachable
        )
    }

    /// Browsers log in with a token there, which no link may contain.
    private static func open(
        _ coordinator: CoordinatorPlace,
        _ invocation: Invocation,
        _ console: CommandOutput
    ) throws {
        guard coordinator.url.socket == nil else {
            throw Refusal(
                message: "browsers cannot reach \(coordinator.url)",
                hint: "name the coordinator by an address: --url http://localhost:8080",
                exitCode: .configuration
            )
        }
        try console.print(coordinator.url.base)
        console.say("the page asks for a token, unless the coordinator has --open-role")
        show(coordinator.url.base, invocation, console)
    }

    /// Opens a file or a URL in the browser, if there is one. Returns whether it was started. Whatever happens, the link has
    /// been printed.
    @discardableResult
    private static func show(_ target: String, _ invocation: Invocation, _ console: CommandOutput) -> Bool {
        guard !invocation[onlyPrints], console.data.isTerminal,
            let words = DesktopBrowser.words(toOpen: target, invocation.environment)
        else { return false }
        guard Daemon.launch(words, variables: invocation.environment) else {
            console.warn("no browser could be started (\(words[0].printable)); open the link yourself")
            return false
        }
        return true
    }
}

/// The browser of the user's desktop.
enum DesktopBrowser {
    /// The program that opens a file or a URL, with its arguments; `nil` without a desktop.
    ///
    /// As in other programs, BROWSER is a list with colons, whose entries may have `%s` where the file belongs. The first
    /// one is used.
    static func words(toOpen target: String, _ environment: [String: String]) -> [String]? {
        let hasDesktop = ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false }
        guard hasDesktop else { return nil }
        let first = environment["BROWSER"]?.split(separator: ":").first ?? ""
        var words = first.split(separator: " ").map(String.init)
        guard !words.isEmpty else { return ["xdg-open", target] }
        guard let place = words.firstIndex(where: { $0.contains("%s") }) else { return words + [target] }
        words[place] = words[place].replacing("%s", with: target)
        return words
    }
}
