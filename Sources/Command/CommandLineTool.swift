import Console
import Conversion
import Glibc
import Ledger
import LedgerClient
import LocalCluster
import PumpRoom

/// The command `sluice`, from its command-line words to its exit code.
public enum CommandLineTool {
    /// Runs the command that `words` name and ends the process.
    ///
    /// `words` does not include the program's name. A `nil` word was not valid UTF-8; without any `words`, they could not
    /// be read.
    public static func run(_ words: [String?]?, environment: [String: String]) -> Never {
        // A write to a pipe without a reader then fails with an error instead of killing the process.
        signal(SIGPIPE, SIG_IGN)
        StandardStreams.takeMissingPlaces()
        Locale.useUTF8()
        guard let words else {
            // Rooms, published files and the private cluster need it as well.
            CommandOutput(colour: .auto, environment: environment).complain(
                "cannot read the command line: /proc is not there",
                hint: "mount it: mount -t proc proc /proc (a chroot or container needs one of its own)"
            )
            end(with: .failure)
        }
        end(with: answer(words, environment))
    }

    private static func answer(_ words: [String?], _ environment: [String: String]) -> ExitCode {
        var console = CommandOutput(colour: Outlet.ColourChoice(in: words), environment: environment)
        do {
            switch try WordReader(root: Catalogue.root, environment: environment).read(readable(words)) {
            case .version:
                try console.print(Version.lines.joined(separator: "\n"))
                return .success
            case .help(let path):
                let page = HelpPage(path: path).lines(width: console.data.width, paint: console.data.paint)
                try Pager(console: console, environment: environment).show(page)
                return .success
            case .run(let command, var invocation):
                let own = CommandOutput(
                    colour: invocation[Catalogue.colour],
                    showsDebug: invocation[Catalogue.debug],
                    environment: environment
                )
                console = own
                invocation.attachment = ContextMemory(environment: environment) { own.warn($0) }
                return try command.run(invocation, own)
            }
        } catch let error as UsageError {
            // The message quotes words, which may include a URL with a password.
            let hint = error.hint.map { PasswordField.hidden(in: $0).printable }
            console.complain(PasswordField.hidden(in: error.message).printable, hint: hint)
            return error.exitCode
        } catch let error as LedgerError {
            let page = LedgerFailurePage(error: error)
            page.show(on: console)
            return page.exitCode
        } catch let refusal as Refusal {
            console.complain(refusal.message.printable, details: refusal.details, hint: refusal.hint?.printable)
            return refusal.exitCode
        } catch let error as SpoolError {
            console.complain(error.message, hint: error.hint)
            return .failure
        } catch let error as RoomProgramError {
            let code = "code \(FailureCode.roomStart.rawValue)"
            console.complain(error.message.printable, details: [code], hint: error.hint)
            return ExitCode(.roomStart)
        } catch let stop as StoppedBySignal {
            return stop.exitCode
        } catch let error as ClusterError {
            error.show(on: console)
            return error.exitCode
        } catch let error as Outlet.Failure {
            // The reader of the output has exited, as `head` does. End by the signal, as other programs do.
            if error.errorNumber == EPIPE { die(by: SIGPIPE) }
            console.complain("cannot write to standard output: \(String(cString: strerror(error.errorNumber)))")
            return .failure
        } catch {
            console.complain("\(error)".printable)
            return .failure
        }
    }

    /// Rejects names in other encodings: decoding them would silently turn them into other names.
    private static func readable(_ words: [String?]) throws(UsageError) -> [String] {
        try words.enumerated().map { place, word throws(UsageError) in
            if let word { return word }
            throw UsageError(
                "argument \(place + 1) is not valid UTF-8",
                hint:
                    "rename the file (convmv renames whole folders), or pass it on standard input: sluice convert - OUT <FILE"
            )
        }
    }

    private static func end(with code: ExitCode) -> Never {
        switch code {
        case .interrupted: die(by: SIGINT)
        case .terminated: die(by: SIGTERM)
        default:
            fflush(nil)
            // Without the exit handlers of libraries: threads of calls that block may still be running, and OpenSSL's
            // handler frees what it keeps for each thread, which a thread that ends at that moment frees as well.
            _exit(code.rawValue)
        }
    }

    /// Ends the process with the signal itself, so that shells report 128 plus its number and a script's loop ends
    /// too.
    private static func die(by number: Int32) -> Never {
        signal(number, SIG_DFL)
        var only = sigset_t()
        sigemptyset(&only)
        sigaddset(&only, number)
        sigprocmask(SIG_UNBLOCK, &only, nil)
        raise(number)
        exit(128 + number)
    }
}
