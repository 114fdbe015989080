import Ledger

/// The command line in this process's memory, which every user of the machine can read with `ps`.
public enum CommandLineMemory {
    /// Overwrites the passwords in database addresses. Until then, for some milliseconds, other users can read them, so
    /// a password belongs in an environment variable or in a file.
    public static func hidePasswords() {
        for place in 1..<max(1, Int(CommandLine.argc)) {
            guard let word = CommandLine.unsafeArgv[place], let text = String(validatingCString: word) else { continue }
            let shown = Array(PasswordField.hidden(inAddress: text).utf8)
            let length = text.utf8.count
            guard shown != Array(text.utf8) else { continue }
            for index in 0..<length {
                // A password shorter than the mask leaves no space for it.
                let byte = shown.count > length ? UInt8(ascii: "*") : index < shown.count ? shown[index] : 0
                word[index] = CChar(bitPattern: byte)
            }
        }
    }
}
