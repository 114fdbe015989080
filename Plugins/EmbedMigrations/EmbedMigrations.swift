import Foundation
import PackagePlugin

/// Puts the files of `migrations` into the target as Swift source, so that the binary carries its own schema.
@main
struct EmbedMigrations: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let folder = context.package.directoryURL.appending(path: "migrations", directoryHint: .isDirectory)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "sql" }
            .sorted { $0.path < $1.path }
        let output = context.pluginWorkDirectoryURL.appending(path: "Migration+Embedded.swift")
        return [
            .buildCommand(
                displayName: "Embedding the migrations",
                executable: try context.tool(named: "embed-migrations").url,
                arguments: [folder.path, output.path],
                // The folder stands here too: it changes when a file is added or removed, which the list of files,
                // kept from an earlier build, may not show.
                inputFiles: [folder] + files,
                outputFiles: [output]
            )
        ]
    }
}
