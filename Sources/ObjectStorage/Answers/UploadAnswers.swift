/// A part of an upload.
package struct UploadedPart: Sendable, Hashable {
    /// From 1 to 10,000.
    package let number: Int
    /// With its quotation marks.
    package let etag: String
    /// `nil` in a request.
    package let byteCount: Int64?

    package init(number: Int, etag: String, byteCount: Int64? = nil) {
        self.number = number
        self.etag = etag
        self.byteCount = byteCount
    }
}

/// An upload that is neither completed nor aborted.
package struct OpenUpload: Sendable, Hashable {
    package let key: String
    package let id: String
    package let begun: StoreTime?
}

/// Reads the answers about uploads in parts, and writes the request that completes one.
package enum UploadAnswers {
    /// The id of the upload that CreateMultipartUpload has begun.
    package static func begun(_ root: XMLElement) throws(AnswerError) -> String {
        guard root.name == "InitiateMultipartUploadResult", let id = root.text(of: "UploadId"), !id.isEmpty else {
            throw AnswerError("it has no id of an upload")
        }
        return id
    }

    /// The ETag of the object that CompleteMultipartUpload has made.
    ///
    /// An error inside an answer of success is a `StoreProblem`: a store sends the status before it has put the parts
    /// together.
    package static func completed(
        _ root: XMLElement,
        status: Int
    ) throws(AnswerError) -> Result<String, StoreProblem> {
        if let problem = StoreProblem(root, status: status) { return .failure(problem) }
        guard root.name == "CompleteMultipartUploadResult", let etag = root.text(of: "ETag"), !etag.isEmpty else {
            throw AnswerError("it does not say that the upload is complete")
        }
        return .success(ObjectPage.quoted(etag))
    }

    /// A page of ListParts, and the number behind which the next one begins; `nil` on the last page.
    package static func parts(_ root: XMLElement) throws(AnswerError) -> (parts: [UploadedPart], next: Int?) {
        guard root.name == "ListPartsResult" else { throw AnswerError("it is no list of parts") }
        var parts: [UploadedPart] = []
        for item in root.all("Part") {
            guard let number = item.text(of: "PartNumber").flatMap({ Int($0) }), (1...10_000).contains(number),
                let etag = item.text(of: "ETag"), let size = item.text(of: "Size").flatMap({ Int64($0) }), size >= 0
            else { throw AnswerError("a part has no number, no ETag or no size") }
            parts.append(UploadedPart(number: number, etag: etag, byteCount: size))
        }
        guard let next = try ObjectPage.next(root, "NextPartNumberMarker") else { return (parts, nil) }
        guard let marker = Int(next), let last = parts.last, marker >= last.number else {
            throw AnswerError("the next page begins before the end of this one")
        }
        return (parts, marker)
    }

    /// Where the next page of ListMultipartUploads begins.
    package struct Marker: Sendable, Hashable {
        package let key: String
        package let id: String

        package init(key: String, id: String) {
            self.key = key
            self.id = id
        }
    }

    /// A page of ListMultipartUploads.
    package static func uploads(_ root: XMLElement) throws(AnswerError) -> (uploads: [OpenUpload], next: Marker?) {
        guard root.name == "ListMultipartUploadsResult" else { throw AnswerError("it is no list of uploads") }
        let names = try NameEncoding(root)
        var uploads: [OpenUpload] = []
        for item in root.all("Upload") {
            guard let key = item.text(of: "Key"), let id = item.text(of: "UploadId"), !id.isEmpty else {
                throw AnswerError("an upload has no key or no id")
            }
            let begun = item.text(of: "Initiated").flatMap { StoreTime(iso8601: $0) }
            uploads.append(OpenUpload(key: try names.decode(key), id: id, begun: begun))
        }
        guard let key = try ObjectPage.next(root, "NextKeyMarker") else { return (uploads, nil) }
        return (uploads, Marker(key: try names.decode(key), id: root.text(of: "NextUploadIdMarker") ?? ""))
    }

    /// The body of CompleteMultipartUpload.
    package static func completion(of parts: [UploadedPart]) -> [UInt8] {
        var text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        for part in parts {
            text += "<Part><PartNumber>\(part.number)</PartNumber><ETag>\(escaped(part.etag))</ETag></Part>"
        }
        return Array((text + "</CompleteMultipartUpload>").utf8)
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
