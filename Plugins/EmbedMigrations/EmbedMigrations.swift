import Foundation
import PackagePlugin

/// Embeds the steps and functions of `migrations` in the target as Swift source, so that the binary carries its schema.
@main
struct EmbedMigrations: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let folder = context.package.directoryURL.appending(path: "migrations", directoryHint: .isDirectory)
        let folders = ["tables", "functions"].map { folder.appending(path: $0, directoryHint: .isDirectory) }
        let files = try folders.flatMap { folder in
            try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
                .filter { $0.pathExtension == "sql" }
                .sorted { $0.path < $1.path }
        }
        let output = context.pluginWorkDirectoryURL.appending(path: "Migration+Embedded.swift")
        return [
            .buildCommand(
                displayName: "Embedding the migrations",
                executable: try context.tool(named: "embed-migrations").url,
                arguments: [folder.path, output.path],
                // The folders are inputs too: they change when a file is added or removed, which a file list cached
                // from an earlier build may miss.
                inputFiles: folders + files,
                outputFiles: [output]
            )
        ]
    }
}
