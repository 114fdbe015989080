/// The layouts that Apple's containers name by a number: all that CoreAudioBaseTypes defines, with the order of their
/// channels.
enum AppleLayoutTags {
    /// The speakers of the layout that `tag` names, in the order of its channels; `nil` for a tag that is not known, and
    /// for one that names only a number of channels.
    ///
    /// The lower half of a tag is the number of channels, the upper half tells layouts apart.
    static func speakers(of tag: UInt32) -> [Int?]? {
        guard let names = channels[tag >> 16]?.split(separator: " "), names.count == Int(tag & 0xFFFF) else {
            return nil
        }
        return names.map { speakers[String($0)] }
    }

    /// All tags in the table.
    static var all: [UInt32] {
        channels.map { number, names in number << 16 | UInt32(names.split(separator: " ").count) }.sorted()
    }

    /// The bits of the mask, by Apple's names of the speakers. `Ls` and `Rs` are the side speakers, as libav has it, and
    /// `Rls` and `Rrs` those behind. Speakers without a bit are missing.
    static let speakers: [String: Int] = [
        "L": 0, "R": 1, "C": 2, "LFE": 3, "Rls": 4, "Rrs": 5, "Lc": 6, "Rc": 7, "Cs": 8, "Ls": 9, "Rs": 10, "Ts": 11,
        "Vhl": 12, "Vhc": 13, "Vhr": 14, "Ltr": 15, "Ctr": 16, "Rtr": 17, "Lt": 29, "Rt": 30, "Lw": 31, "Rw": 32,
        "LFE2": 35, "Ltm": 36, "Rtm": 37, "Cb": 38, "Lb": 39, "Rb": 40,
    ]

    /// The channels of each layout, by the upper half of its tag. Further names in CoreAudioBaseTypes, such as those of
    /// ITU, DVD and CICP, stand for the same numbers.
    private static let channels: [UInt32: String] = [
        // Mono and stereo, headphones, matrix-encoded stereo, mid and side, X and Y, binaural.
        100: "C", 101: "L R", 102: "L R", 103: "L R", 104: "M S", 105: "L R", 106: "L R",
        // Ambisonic B-format, and the regular polygons.
        107: "W X Y Z", 108: "L R Rls Rrs", 109: "L R Rls Rrs C", 110: "L R Rls Rrs C Cs",
        111: "L R Rls Rrs C Cs Ls Rs", 112: "L R Rls Rrs Vhl Vhr Ltr Rtr",
        // MPEG.
        113: "L R C", 114: "C L R", 115: "L R C Cs", 116: "C L R Cs", 117: "L R C Ls Rs", 118: "L R Ls Rs C",
        119: "L C R Ls Rs", 120: "C L R Ls Rs", 121: "L R C LFE Ls Rs", 122: "L R Ls Rs C LFE",
        123: "L C R Ls Rs LFE", 124: "C L R Ls Rs LFE", 125: "L R C LFE Ls Rs Cs", 126: "L R C LFE Ls Rs Lc Rc",
        127: "C Lc Rc L R Ls Rs LFE", 128: "L R C LFE Ls Rs Rls Rrs",
        // Emagic's 7.1, and SMPTE's 5.1 beside a matrix-encoded stereo mix.
        129: "L R Ls Rs C LFE Lc Rc", 130: "L R C LFE Ls Rs Lt Rt",
        // ITU and DVD.
        131: "L R Cs", 132: "L R Ls Rs", 133: "L R LFE", 134: "L R LFE Cs", 135: "L R LFE Ls Rs", 136: "L R C LFE",
        137: "L R C LFE Cs", 138: "L R Ls Rs LFE",
        // Audio units, AAC and TMH.
        139: "L R Ls Rs C Cs", 140: "L R Ls Rs C Rls Rrs", 141: "C L R Ls Rs Cs", 142: "C L R Ls Rs Cs LFE",
        143: "C L R Ls Rs Rls Rrs", 144: "C L R Ls Rs Rls Rrs Cs",
        145: "L R C Vhc Lsd Rsd Ls Rs Vhl Vhr Lw Rw Csd Cs LFE LFE2",
        146: "L R C Vhc Lsd Rsd Ls Rs Vhl Vhr Lw Rw Csd Cs LFE LFE2 Lc Rc HI VI Haptic", 148: "L R Ls Rs C Lc Rc",
        // AC-3 and E-AC-3. In 162, the direct surround speakers are those at the sides.
        149: "C LFE", 150: "L C R", 151: "L C R Cs", 152: "L C R LFE", 153: "L R Cs LFE", 154: "L C R Cs LFE",
        155: "L C R Ls Rs Cs", 156: "L C R Ls Rs Rls Rrs", 157: "L C R Ls Rs LFE Cs", 158: "L C R Ls Rs LFE Ts",
        159: "L C R Ls Rs LFE Vhc", 160: "L C R Ls Rs LFE Rls Rrs", 161: "L C R Ls Rs LFE Lc Rc",
        162: "L C R Rls Rrs LFE Ls Rs", 163: "L C R Ls Rs LFE Lw Rw", 164: "L C R Ls Rs LFE Vhl Vhr",
        165: "L C R Ls Rs LFE Cs Ts", 166: "L C R Ls Rs LFE Cs Vhc", 167: "L C R Ls Rs LFE Ts Vhc",
        // DTS.
        168: "C L R LFE", 169: "C L R Cs LFE", 170: "Lc Rc L R Ls Rs", 171: "C L R Rls Rrs Ts",
        172: "C Cs L R Rls Rrs", 173: "Lc Rc L R Ls Rs LFE", 174: "C L R Rls Rrs Ts LFE", 175: "C Cs L R Rls Rrs LFE",
        176: "Lc C Rc L R Ls Rs", 177: "Lc C Rc L R Ls Rs LFE", 178: "Lc Rc L R Ls Rs Rls Rrs",
        179: "Lc C Rc L R Ls Cs Rs", 180: "Lc Rc L R Ls Rs Rls Rrs LFE", 181: "Lc C Rc L R Ls Cs Rs LFE",
        182: "C L R Ls Rs LFE Cs",
        // More of AAC, and WAVE.
        183: "C L R Ls Rs Rls Rrs LFE", 184: "C L R Ls Rs LFE Vhl Vhr", 185: "L R Rls Rrs", 186: "L R C Rls Rrs",
        187: "L R C LFE Rls Rrs", 188: "L R C LFE Cs Ls Rs", 189: "L R C LFE Rls Rrs Ls Rs",
        // Atmos.
        192: "L R C LFE Ls Rs Rls Rrs Vhl Vhr Ltr Rtr",
        193: "L R C LFE Ls Rs Rls Rrs Lw Rw Vhl Vhr Ltm Rtm Ltr Rtr", 194: "L R C LFE Ls Rs Ltm Rtm",
        195: "L R C LFE Ls Rs Vhl Vhr Ltr Rtr", 196: "L R C LFE Ls Rs Rls Rrs Ltm Rtm",
        // Logic.
        197: "L R Cs C", 198: "L R Ls Rs Cs C", 199: "L R Ls Rs Cs C LFE", 200: "L C R Ls Cs Rs LFE",
        201: "L R Ls Rs Rls Rrs C LFE", 202: "L R Rls Rrs Ls Rs C LFE Vhl Vhr Ltr Rtr",
        203: "L R Rls Rrs Ls Rs C LFE Vhl Vhr Ltm Rtm Ltr Rtr",
        // CICP. Its top surround speakers are those behind, and its first low-frequency channel may be called the second.
        204: "Lc Rc C LFE Rls Rrs L R Cs LFE2 Ls Rs Vhl Vhr Vhc Ts Ltr Rtr Ltm Rtm Ctr Cb Lb Rb",
        205: "L R C LFE Ls Rs Vhl Vhr", 206: "L R C LFE Rls Rrs LFE2 Ls Rs Vhl Vhr Ctr",
        207: "L R C LFE Ls Rs Vhl Vhr Ltr Rtr", 208: "L R C LFE Ls Rs Vhl Vhr Vhc Ltr Rtr Ts",
        209: "L R C LFE Ls Rs Rls Rrs Vhl Vhr Vhc Ltr Rtr Ts", 210: "L R C LFE Rls Rrs Ls Rs Vhl Vhr Ltr Rtr",
        211: "L R C LFE Rls Rrs Ls Rs Vhl Vhr Ltr Rtr Leos Reos",
        // Ogg, and more of MPEG.
        212: "L C R Rls Rrs", 213: "L C R Rls Rrs LFE", 214: "L C R Ls Rs Cs LFE", 215: "L C R Ls Rs Rls Rrs LFE",
        216: "L R Rls Rrs C", 217: "L R Rls Rrs C LFE", 218: "L R Ls Rs C Cs LFE", 219: "L R Rls Rrs Ls Rs C LFE",
    ]
}
