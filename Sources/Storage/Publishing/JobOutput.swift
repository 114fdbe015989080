package import Conversion

/// What a job does about one of its outputs, before any work.
package enum JobOutput: ~Copyable {
    case ready(OutputFile)
    /// The destination exists and the policy is to leave it.
    case skipped
    /// An earlier attempt at the job has published it.
    case made(Fingerprint)
}

extension StorageRoot {
    /// Opens an output of a job for `location` as `prepareOutput` does, unless the job has made it already. `work` as for
    /// `owner`. Opens the folder once and looks once at what has the name.
    ///
    /// For outputs that are published under the name of their attempt (`OutputGroup`) and so never have a hidden one
    /// where the file system has unnamed files: there it looks for no leftovers of hidden files. `mustBeHidden` works
    /// without unnamed files, as some file systems require.
    package func prepareOutput(
        at location: Location,
        for attempt: AttemptName,
        madeOf work: UInt64,
        onConflict policy: Recipe.ConflictPolicy,
        sources: [FileIdentity],
        permissions: [FilePermissions],
        mustBeHidden: Bool = false
    ) throws(StorageError) -> JobOutput {
        var (opened, present, owner): (Folder?, FileFacts?, OutputOwner) = (nil, nil, .unknown)
        // With the policy `replace` it does not matter who made the file.
        if rules.policy(policy) != .replace {
            do throws(StorageError) {
                let folder = try folder(of: location, at: .open)
                present = try folder.facts(of: location.name, at: .open)
                if let present {
                    owner = try folder.owner(of: location.name, present, for: attempt, madeOf: work)
                }
                opened = folder
            } catch  where error.code == .folderNotFound {
                // The folder is created together with the output.
            }
            if case .job(let fingerprint) = owner { return .made(fingerprint) }
        }
        try allow(location)
        let folder: Folder
        if let opened {
            folder = opened
        } else {
            folder = try self.folder(of: location, at: .open, creating: true)
            present = try folder.facts(of: location.name, at: .open)
        }
        let preparation = try prepareOutput(
            at: location,
            in: folder,
            present: present,
            onConflict: policy,
            sources: sources,
            permissions: permissions,
            mayExist: owner == .unknown,
            mustBeHidden: mustBeHidden,
            sweeping: false
        )
        switch consume preparation {
        case .skipped: return .skipped
        case .ready(let file): return .ready(file)
        }
    }
}
