import Glibc

/// The three descriptors that every process expects to have.
package enum StandardStreams {
    /// Opens the standard descriptors that the process was started without.
    ///
    /// Otherwise the next file to be opened would get such a number, and messages would be written into it. The
    /// replacements behave like closed descriptors: standard input cannot be read, the others cannot be written.
    package static func takeMissingPlaces() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 {
            // A new descriptor gets the lowest free number, which is this one.
            _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
