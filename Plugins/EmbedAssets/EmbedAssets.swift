import Foundation
import PackagePlugin

/// Embeds the files of `Sources/Page/Assets/files` in the target as Swift source, so that the binary carries its page.
@main
struct EmbedAssets: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let folder = context.package.directoryURL
            .appending(path: "Sources/Page/Assets/files", directoryHint: .isDirectory)
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .sorted { $0.path < $1.path }
        let output = context.pluginWorkDirectoryURL.appending(path: "PageAsset+Embedded.swift")
        return [
            .buildCommand(
                displayName: "Embedding the assets of the page",
                executable: try context.tool(named: "embed-assets").url,
                arguments: [folder.path, output.path],
                // The folder is an input too: it changes when a file is added or removed, which a file list cached from
                // an earlier build may miss.
                inputFiles: [folder] + files,
                outputFiles: [output]
            )
        ]
    }
}
