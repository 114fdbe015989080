import Glibc

/// The programs of a PostgreSQL server, in Debian's folders, which are not on PATH.
struct PostgresPrograms: Sendable {
    let folder: String

    var initdb: String { folder + "/initdb" }
    var postgres: String { folder + "/postgres" }

    /// The programs of the version that created `data`, or of the newest version if there is no data yet.
    static func find(for data: String) throws(ClusterError) -> PostgresPrograms {
        let root = "/usr/lib/postgresql"
        let made = version(of: data)
        let versions = made.map { [$0] } ?? names(in: root).compactMap { Int($0) }.filter { $0 >= 14 }.sorted(by: >)
        for version in versions {
            let found = PostgresPrograms(folder: "\(root)/\(version)/bin")
            if access(found.postgres, X_OK) == 0, access(found.initdb, X_OK) == 0 { return found }
        }
        if let made {
            throw ClusterError(
                "the private cluster needs PostgreSQL \(made), which is not installed",
                hint: "apt install postgresql-\(made)"
            )
        }
        throw ClusterError(
            "no PostgreSQL server is installed",
            hint: "apt install postgresql, if you want a private cluster; for a ledger that others run, "
                + "\"sluice config set-context NAME --database URL\", or --url URL of a coordinator"
        )
    }

    private static func version(of data: String) -> Int? {
        let file = open(data + "/PG_VERSION", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = read(file, &bytes, bytes.count)
        return count > 0 ? Int(String(decoding: bytes.prefix(count), as: UTF8.self).prefix { $0.isNumber }) : nil
    }

    static func names(in folder: String) -> [String] {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            names.append(
                withUnsafePointer(to: &entry.pointee.d_name) { letters in
                    letters.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
            )
        }
        return names
    }
}
