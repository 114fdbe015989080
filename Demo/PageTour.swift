import Foundation
import TestSupport

/// Keeps a cluster up whose page has something to show: outputs to hear, failures, damage, and jobs that wait.
struct PageTour {
    let place: DemoPlace
    let page: Page

    func run() throws -> Bool {
        page.title("A cluster with something to see: outputs, failures, damage, and jobs that wait")
        try Recordings(folder: place.path("in")).make()
        let shell = Shell(folder: place.folder, environment: place.environment, page: page)
        try shell.typeWhole("sluice up")
        // 3: some have failed, as they should.
        try shell.type(
            "sluice submit -r in --to 'out/{dir}/{stem}.mp3'",
            "--waveform 'out/{dir}/{stem}.dat' --preset podcast-mp3 --label demo --wait",
            code: 3
        )
        try shell.type("sluice retry --code corrupt_stream --on-damage conceal --yes")
        // A queue exists once it has had a job.
        try shell.type("sluice submit in/spoken/english.wav --to 'night/{stem}.flac' --queue nightly --wait")
        try shell.type("sluice queues pause nightly")
        try shell.type("sluice submit -r in/calls --to 'night/{stem}.flac' --queue nightly")

        page.title("Its page: operators steer the cluster, submitters have files converted")
        try shell.type("sluice tokens create --role operator --name desk")
        try shell.type("sluice tokens create --role submitter --name studio")
        let port = try PrivatePostgres.freePort()
        page.remark("Open http://localhost:\(port)/ and paste one of these tokens. Ctrl-C ends everything.\n")
        var environment = place.environment
        environment["SLUICE_DATABASE_URL"] = try address(shell)
        try Shell(folder: place.folder, environment: environment, page: page).type(
            "sluice coordinator --config /dev/null --listen \(port) --page-name demo --page-color magenta",
            "--root local=\(place.folder) --uploads local --downloads local --excerpts local"
        )
        return true
    }

    /// The database of the private cluster, whose own coordinator serves its page to the owner alone, and takes no uploads.
    private func address(_ shell: Shell) throws -> String {
        struct Cluster: Decodable { let socket: String }
        let line = try shell.output(of: "sluice up --json")
        let cluster = try JSONDecoder().decode(Cluster.self, from: Data(line.utf8))
        return "host='\(cluster.socket)' port=5432 user=sluice dbname=postgres"
    }
}
