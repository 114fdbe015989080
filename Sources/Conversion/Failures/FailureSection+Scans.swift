// What scans find. No room reports these: the worker and the ledger conclude them from what a room has decoded.

extension FailureSection {
    public static let scans = FailureSection(
        "Scans",
        introduction: "A scan of an undamaged file completes. What it has found is kept for files that fail as well.",
        [
            .damageFound: .init(
                .permanent,
                [.decode],
                "A scan has found damage in the source; the message names the first place.",
                cause: "bad disks and transfers, recordings with drop-outs",
                advice: "restore the file from a backup and retry; \"sluice job JOB\" lists the places"
            ),
            .bitRot: .init(
                .permanent,
                [.decode],
                """
                The size and the modification time of the file are those of its last scan, and its sound is different: bytes \
                have changed without a write that sets the time. The ledger keeps the digest of the earlier scan.
                """,
                cause: "failing disks, controllers and memory; tools that set the time back",
                advice: "restore it and retry; if the new contents are right, \"touch\" the file and scan again"
            ),
        ]
    )
}
