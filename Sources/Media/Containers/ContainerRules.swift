/// All that is special about a container that Media reads and writes.
///
/// Each container that differs from an ordinary one has a file or a folder here. It holds everything that concerns only
/// this container: facts about length and priming, end tests, skips, jumps, patches and tags. `ContainerRegistry` is
/// the only code that compares names of containers.
///
/// What is planned belongs here as well:
///
/// - *Edits*: `SourceRules.facts` reduces an edit list to one stretch of sound, and calls a source with several edits
///   open-ended. Several stretches belong into `ContainerFacts`; `RangeCursor` then orders them.
/// - *Tags*: `SourceRules.collectTags` finds every text in the raw bytes, and `OutputRules.front` and `patch` write those
///   that libav cannot write. Code that reads and writes all tags extends these. Formats of tags that several containers
///   share are in `Tags`.
/// - *Segments*, outputs of several files: `OutputRules` gets what begins each segment, beside `patch`, which completes
///   one file.
typealias ContainerRules = SourceRules & OutputRules
