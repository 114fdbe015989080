import Storage
import Testing
import Worker

@testable import Command
@testable import Console

struct RootPlaceTests {
    @Test(arguments: [
        ("in=/mnt/in", "/mnt/in", ""), ("in=/mnt/in:ro", "/mnt/in", "ro"), ("in=/mnt/a:b", "/mnt/a:b", ""),
        ("in=/mnt/a:ro:rw", "/mnt/a:ro", ""), ("in=/mnt/a:", "/mnt/a:", ""), ("in=:ro", ":ro", ""),
        ("in=/a=b:create,ext=flac+MP3,mode=640", "/a=b", "create,ext=flac+mp3,mode=640"),
    ])
    func rulesFollowTheLastColon(word: String, path: String, rules: String) throws {
        let place = try ValueType<WorkerConfiguration.RootPlace>.rootPlace.read(word)
        #expect(place.name == "in" && place.path == path && place.rules.words == rules)
    }
}

struct CallerDescriptorTests {
    @Test(
        arguments: [
            ("/dev/fd/9", [9]), ("--database-file=/proc/self/fd/12", [12]), ("in=/dev/fd/3/folder:ro", [3]),
            ("postgresql://db/audio?passfile=/dev/fd/8&sslkey=/dev/fd/10", [8, 10]), ("/srv/fd/x", []), ("x/fd", []),
            ("/dev/fd/99999999999", []), ("9", []),
        ] as [(String, [Int32])]
    )
    func descriptorsAreFoundInWords(text: String, numbers: [Int32]) {
        #expect(ServiceOptions.descriptors(namedIn: text) == numbers)
    }
}

struct ByteSizeTests {
    @Test(
        arguments: [
            ("0", 0), ("4096", 4096), ("1kB", 1_000), ("2GB", 2_000_000_000), ("512MiB", 512 << 20), ("1TiB", 1 << 40),
            ("9223372036854775807", Int64.max),
        ] as [(String, Int64)]
    )
    func sizesAreRead(text: String, bytes: Int64) { #expect(ByteSize(words: text)?.bytes == bytes) }

    @Test(arguments: ["", "GB", "1.5GB", "-1", "1 GB", "1gb", "9223372036854775808", "9223372036854775807kB", "1KB"])
    func whatIsNoSizeIsRefused(text: String) { #expect(ByteSize(words: text) == nil) }
}
