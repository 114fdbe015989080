import TestSupport
import Testing

/// The commands in the pages for operators work in the order in which the pages show them.
@Suite(.serialized)
struct OperatorGuideTests {
    private static let pages = ["operations.md", "tenants.md", "troubleshooting.md", "failover.md", "containers.md"]

    private static func page(_ name: String) throws -> GuidePage {
        try GuidePage(String(decoding: try Bytes.read(Documentation.path(name)), as: UTF8.self))
    }

    @Test(arguments: pages)
    func everyCommandWorks(_ name: String) throws {
        let page = try Self.page(name)
        let runner = try GuideRunner()
        // The others assume the cluster that this page starts.
        if name != "operations.md" { try runner.addCluster() }
        try runner.run(page)
    }

    /// The commands that a test cannot run because they change the machine. An addition needs a reason on its page.
    @Test func fewCommandsAreLeftToPeople() throws {
        var left: [String] = []
        for name in Self.pages {
            for block in try Self.page(name).blocks {
                guard case .byHand(let why) = block.manner else { continue }
                #expect(!why.isEmpty)
                left.append(contentsOf: block.lines)
            }
        }
        let expected: [String] = Self.byHand.split(separator: "\n").map { String($0) }
        #expect(left == expected)
    }

    private static let byHand = #"""
        #!/bin/sh
        # /usr/local/bin/nightly, for the user's line of cron: 30 1 * * * /usr/local/bin/nightly
        sluice submit -r /mnt/archive --to '/srv/out/{dir}/{stem}.mp3' --preset podcast-mp3 --label nightly \
            --wait --timeout 6h --quiet >/dev/null
        code=$?
        [ $code != 3 ] || sluice errors --batch last
        exit $code
        sudo systemctl restart sluice-worker sluice-coordinator
        systemctl status sluice-coordinator
        curl -i http://localhost:8080/healthz
        curl -i http://localhost:8080/readyz
        sluice workers drain pump-1
        sudo systemctl stop sluice-worker
        echo 'postgresql://pump:PASSWORD@db2/audio' | sudo install -m 640 -g sluice /dev/stdin /etc/sluice/database
        sudo sluice doctor
        sudo systemctl start sluice-worker
        sudo -u postgres dropdb audio
        sudo -u postgres createdb audio
        sudo -u postgres pg_restore --dbname audio ledger.dump
        make image
        podman load --input .build/packages/sluice-image-*.tar
        podman run --rm --volume "$PWD:/audio" --workdir /audio --user "$(id -u):$(id -g)" sluice:0.2.0-dev convert talk.wav talk.flac
        podman run --detach --read-only --cap-drop all --security-opt no-new-privileges --stop-timeout 60 \
            --volume /etc/sluice:/etc/sluice:ro --volume /srv/audio:/audio \
            sluice:0.2.0-dev worker --root in=/audio/in:ro --root out=/audio/out
        cd deploy
        mkdir -p audio/in audio/out secrets
        chmod 700 secrets
        password=$(openssl rand -hex 16)
        printf '%s' "$password" >secrets/password
        printf 'postgresql://sluice:%s@postgres/audio\n' "$password" >secrets/database
        sudo chown -R 10001 audio/out
        docker compose up --detach
        kubectl apply --kustomize deploy/kubernetes/base
        """#
}
