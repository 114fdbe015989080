import Foundation
import TestSupport
import Testing

/// Runs the commands of a page with a separate folder and server, as a reader of the page would.
final class GuideRunner {
    let folder: TemporaryFolder
    private var started: PrivatePostgres?
    private var services: [RunningSluice] = []
    private var environment: [String: String]

    init() throws {
        folder = try TemporaryFolder.create()
        // The private cluster's PostgreSQL runs under a separate account, which must be able to enter the folder.
        guard chmod(folder.path, 0o711) == 0 else { throw SupportError("open the folder", errno: errno) }
        for name in ["bin", "mnt/archive", "srv/out", "recordings/2020", "talks"] {
            try FileManager.default.createDirectory(atPath: folder.path(name), withIntermediateDirectories: true)
        }
        guard symlink(Sluice.path, folder.path("bin/sluice")) == 0 else { throw SupportError("link", errno: errno) }
        let programs = (try PrivatePostgres.program("psql") as NSString).deletingLastPathComponent
        let usual = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        environment = [
            "PATH": "\(folder.path("bin")):\(programs):\(usual)", "HOME": folder.path,
            "XDG_DATA_HOME": folder.path("data"),
        ]
        try addSound()
    }

    deinit {
        // Stops the private cluster if the page failed half-way; a complete page has stopped it itself. If this
        // fails too, the check for left-over processes finds it.
        _ = try? Sluice.run(["down"], environment: ["XDG_DATA_HOME": folder.path("data")])
    }

    /// The server of the page, which few pages name: started when it is first needed, with the database `audio`.
    private func server() throws -> PrivatePostgres {
        if let started { return started }
        // Durable settings, which `doctor` asks for.
        let server = try PrivatePostgres.start(
            settings: ["fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"]
        )
        try server.run("create database audio")
        started = server
        return server
    }

    /// Creates a source of two minutes to cut from, and several short ones.
    private func addSound() throws {
        try WAVFile.write(Signal.sweep(rate: 8_000, frames: 960_000).pcm(.s16), to: folder.path("talk.wav"))
        let talk = try WAVFile.bytes(Material.talk)
        for name in [
            "recordings/intro.wav", "recordings/2020/first.wav", "recordings/2020/second.wav", "talks/opening.wav",
            "mnt/archive/talk.wav", "mnt/archive/music.wav",
        ] {
            try Bytes.write(talk, to: folder.path(name))
        }
    }

    /// Creates a FLAC with 2,000 zero bytes in its middle.
    func addScratched() throws {
        let noise = Signal.noise(seed: 7, rate: 48_000, frames: 48_000).pcm(.s16)
        let path = folder.path("recordings/scratched.flac")
        try FFmpeg.encode(noise, to: path, ["-frame_size", "4096"])
        let size = try Bytes.size(of: path)
        try Bytes.overwrite(path, at: size / 2, with: [UInt8](repeating: 0, count: 2_000))
    }

    func shell(_ line: String) throws -> Run { try Sluice.shell(placed(line), in: folder, environment: environment) }

    /// The line with the page's paths and database addresses replaced by those of the test.
    private func placed(_ line: String) throws -> String {
        var placed = line.replacing("/mnt/", with: folder.path("mnt/")).replacing("/srv/", with: folder.path("srv/"))
        for database in ["audio", "moved"] where line.contains("postgresql://sluice@db/\(database)") {
            placed.replace("postgresql://sluice@db/\(database)", with: try server().url(database: database))
        }
        return placed
    }

    /// Starts the cluster of docs/operations.md and completes a batch in it, as the other pages for operators assume.
    func addCluster() throws {
        environment["SLUICE_DATABASE_URL"] = try server().url(database: "audio")
        try shell("sluice migrate").checked()
        try start("sluice worker --name pump-1 --slots 2 --root archive=/mnt/archive --root out=/srv/out")
        try start("sluice coordinator")
        let roots = "--root archive=/mnt/archive --root out=/srv/out"
        try shell("sluice submit -r /mnt/archive \(roots) --to '/srv/out/{stem}.mp3' --queue nightly --wait").checked()
    }

    /// What a command printed, with the paths and addresses of the page in place of those of the test.
    private func named(_ output: String) -> String {
        output.replacing(folder.path("mnt/"), with: "/mnt/").replacing(folder.path("srv/"), with: "/srv/")
            .replacing(folder.path("data"), with: "~/.local/share").replacing(folder.path, with: "~")
    }

    func run(_ page: GuidePage) throws {
        for block in page.blocks {
            for (place, line) in block.lines.enumerated() {
                switch block.manner {
                case .byHand: continue
                case .service: try start(line)
                case .nothingMay: try expect(line, [0, 9])
                case .orderly(let code):
                    let shown = block.outputs?[place]
                    try expect(line, [place == block.lines.count - 1 ? code : 0], shown: shown)
                }
            }
        }
        for service in services {
            service.signal(SIGTERM)
            try service.ends(with: .exited(0))
        }
    }

    private func expect(_ line: String, _ codes: [Int32], shown: ShownOutput? = nil) throws {
        if line.hasPrefix("export "), let sign = line.firstIndex(of: "=") {
            let name = line[..<sign].dropFirst("export ".count)
            return environment[String(name)] = try placed(String(line[line.index(after: sign)...]))
        }
        guard let shown else {
            let run = try shell(line)
            #expect(accepts(run, codes), "\(line)\n\(run.outputText)\(run.errorText)")
            return
        }
        // Both streams go to one pipe, which mostly gives the order that a terminal shows.
        let run = try shell("{ \(line); } 2>&1")
        let said = named(run.outputText)
        #expect(accepts(run, codes), "\(line)\n\(said)")
        #expect(shown.matches(said), "\(line)\n\(said)")
    }

    private func accepts(_ run: Run, _ codes: [Int32]) -> Bool { codes.map { .exited($0) }.contains(run.status) }

    /// Starts a service. Splits the line at spaces: none of these lines quotes anything.
    private func start(_ line: String) throws {
        let words = try placed(line).split(separator: " ").map(String.init)
        let service = try RunningSluice(
            Array(words.dropFirst()),
            in: folder,
            program: folder.path("bin/\(words[0])"),
            environment: environment
        )
        try service.waitForTalk("\"event\":\"started\"")
        services.append(service)
    }
}
