import Glibc

/// The three descriptors that every process expects to have.
enum StandardStreams {
    /// Takes the places of those that the process was started without.
    ///
    /// The next file to be opened would get such a number, and what is said would be written into it. Using one fails
    /// as on a closed descriptor: it cannot be read, or cannot be written.
    static func takeMissingPlaces() {
        for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) < 0 {
            // A new descriptor gets the lowest free number, which is this one.
            _ = open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }
}
