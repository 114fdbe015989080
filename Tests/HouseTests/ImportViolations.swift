/// A violation of the module plan, with its place.
struct HouseViolation: Equatable, CustomStringConvertible {
    let path: String
    /// Counted from 1.
    let line: Int
    /// The offending code, or empty if no single statement is at fault.
    let statement: String
    let reason: String

    var description: String {
        statement.isEmpty ? "\(path):\(line): \(reason)" : "\(path):\(line): \(statement): \(reason)"
    }
}

/// The violations of the plan by the imports of one Swift file under `Sources`, in order of line.
///
/// `path` is relative to the package root. Both branches of `#if` count, whether they are compiled here or not.
func importViolations(path: String, text: String) -> [HouseViolation] {
    let parts = path.split(separator: "/").map(String.init)
    guard parts.count > 2, parts[0] == "Sources", let allowed = HousePlan.arrows[parts[1]] else {
        let reason =
            parts.count > 2 && HousePlan.doors.keys.contains(parts[1])
            ? "a C door holds no Swift"
            : "this folder is not in the plan of the house"
        return [HouseViolation(path: path, line: 1, statement: "", reason: reason)]
    }

    let scan = SwiftScan(of: text)
    var violations = scan.imports.flatMap { found in
        reasons(against: found, room: parts[1], allowed: allowed, path: path).map {
            HouseViolation(path: path, line: found.line, statement: found.description, reason: $0)
        }
    }
    if let line = scan.unclosedLine {
        let reason = "a comment or string opened here never ends, so imports may hide in it"
        violations.append(HouseViolation(path: path, line: line, statement: "", reason: reason))
    }
    return violations
}

private func reasons(
    against found: ImportStatement,
    room: String,
    allowed: Set<String>,
    path: String
) -> [String] {
    var reasons: [String] = []
    let module = found.module

    if found.attributes.contains("_exported") {
        reasons.append("@_exported hands a module on unseen; import it where it is used")
    }

    if let folder = HousePlan.doors[module] {
        if !lies(path, in: [folder]) {
            reasons.append("the C door \(module) opens only in \(folder)")
        } else if found.access == "public" || found.access == "package" {
            reasons.append("a C door is imported internally, so that no C type leaves \(folder)")
        }
    } else if looksLikeDoor(module) {
        reasons.append("the C door \(module) is not in the plan of the house")
    } else if HousePlan.platformModules.contains(module) {
        if !lies(path, in: HousePlan.platformFolders) {
            reasons.append("the C library is imported only in \(inOrder(HousePlan.platformFolders))")
        }
    } else if HousePlan.ourModules.contains(module) {
        if !allowed.contains(module) {
            reasons.append(
                allowed.isEmpty
                    ? "\(room) imports none of our modules"
                    : "of our modules \(room) imports only \(inOrder(allowed))"
            )
        }
    } else if room == "Conversion", !HousePlan.conversionModules.contains(module) {
        reasons.append("Conversion imports only \(inOrder(HousePlan.conversionModules))")
    }
    return reasons
}

/// Whether `path` is a file in one of `folders`, at any depth.
private func lies(_ path: String, in folders: Set<String>) -> Bool {
    folders.contains { path.hasPrefix($0 + "/") }
}

/// Whether a name has the form of our C modules: `C`, then another capital.
private func looksLikeDoor(_ module: String) -> Bool {
    module.hasPrefix("C") && module.dropFirst().first?.isUppercase == true
}

private func inOrder(_ names: Set<String>) -> String {
    names.sorted().joined(separator: ", ")
}
