import Ledger

/// The words of the command line as they lie in this process's memory, where every user of the machine reads them (`ps`).
public enum CommandLineMemory {
    /// Writes over the passwords in database addresses. A user who looks in the first milliseconds sees them: a password belongs in
    /// a variable or in a file.
    public static func hidePasswords() {
        for place in 1..<max(1, Int(CommandLine.argc)) {
            guard let word = CommandLine.unsafeArgv[place], let text = String(validatingCString: word) else { continue }
            let shown = Array(PasswordField.hidden(inAddress: text).utf8)
            let length = text.utf8.count
            guard shown != Array(text.utf8) else { continue }
            for index in 0..<length {
                // A short password has less room than the mark that stands for it.
                let byte = shown.count > length ? UInt8(ascii: "*") : index < shown.count ? shown[index] : 0
                word[index] = CChar(bitPattern: byte)
            }
        }
    }
}
