// swift-tools-version: 6.2
import Foundation
import PackageDescription

// A package outside of sluice. It depends on the product Media and uses what that makes public.
//
// If SLUICE_BUILD names the folder of a build of sluice, the modules come from there: to compile them again takes minutes.
let build = Context.environment["SLUICE_BUILD"]

var dependencies: [Package.Dependency] = []
var media: [Target.Dependency] = []
var swiftSettings: [SwiftSetting] = []
var linkerSettings: [LinkerSetting] = []

if let build {
    let sources = URL(filePath: Context.packageDirectory).appending(path: "../../Sources").standardizedFileURL.path
    let doors = ["CLibAV", "CLoudness", "CSystem"].flatMap { ["-I", "\(sources)/\($0)"] }
    swiftSettings = [.unsafeFlags(["-I", "\(build)/Modules"] + doors)]
    // The objects of a program that uses Media: the folders of the modules also hold those of files that are gone.
    let list = try String(contentsOfFile: "\(build)/media-program.product/Objects.LinkFileList", encoding: .utf8)
    let objects = list.split(separator: "\n").map { $0.trimmingCharacters(in: ["'", "\""]) }
        .filter { path in ["Media", "Conversion", "System"].contains { path.contains("/\($0).build/") } }
    linkerSettings = [.unsafeFlags(objects)]
} else {
    dependencies = [.package(name: "sluice", path: "../..")]
    media = [.product(name: "Media", package: "sluice")]
}

let package = Package(
    name: "recorder",
    dependencies: dependencies,
    targets: [
        .target(name: "SlowDisk"),
        .executableTarget(
            name: "recorder",
            dependencies: media + ["SlowDisk"],
            swiftSettings: swiftSettings,
            linkerSettings: linkerSettings
        ),
        .executableTarget(
            name: "guide",
            dependencies: media,
            swiftSettings: swiftSettings,
            linkerSettings: linkerSettings
        ),
    ]
)
