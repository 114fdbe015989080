import ObjectStorage
import Testing
import WebClient

/// What is read of a store's answers.
struct AnswerTests {
    private static let space = "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""

    private func root(_ text: String) throws -> XMLElement { try XMLParser.parse(Array(text.utf8)) }

    private func answer(_ status: Int, _ body: String = "", _ headers: [String: String] = [:]) -> WebAnswer {
        WebAnswer(
            status: status,
            headers: headers.map { WebRequest.Header($0.key, $0.value) },
            body: Array(body.utf8)
        )
    }

    // MARK: - Problems

    @Test func problemsAreRead() {
        let problem = StoreProblem(
            answer(
                403,
                "<?xml version=\"1.0\"?><Error><Code>RequestTimeTooSkewed</Code><Message>too far</Message>"
                    + "<ServerTime>2013-05-24T00:00:00Z</ServerTime><RequestId>R1</RequestId></Error>"
            )
        )
        #expect(problem.code == "RequestTimeTooSkewed")
        #expect(problem.time?.seconds == 1_369_353_600)
        #expect(problem.requestID == "R1")
        #expect(problem.isClockSkew && !problem.isTemporary)
        #expect("\(problem)" == "RequestTimeTooSkewed (403): too far")
    }

    @Test func textsOfAStoreAreCut() {
        let text = String(repeating: "x", count: 1 << 20)
        let problem = StoreProblem(answer(400, "<Error><Code>\(text)</Code><Message>\(text)</Message></Error>"))
        #expect("\(problem)".utf8.count < 1_200)
        #expect(problem.message.hasPrefix("xxx"))
    }

    @Test func redirectsNameTheRegion() {
        let body = "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-west-1</Region></Error>"
        #expect(StoreProblem(answer(400, body)).region == "eu-west-1")
        let moved = StoreProblem(answer(301, "", ["x-amz-bucket-region": "eu-west-2"]))
        #expect(moved.region == "eu-west-2")
        #expect(moved.code == "PermanentRedirect")
    }

    @Test(arguments: [
        (404, "NotFound", false), (403, "AccessDenied", false), (412, "PreconditionFailed", false),
        (503, "SlowDown", true), (500, "Status500", true), (502, "Status502", true), (501, "NotImplemented", false),
        (409, "Conflict", false),
    ])
    func answersWithoutABodyHaveTheCodeOfTheirStatus(status: Int, code: String, isTemporary: Bool) {
        for body in ["", "<html>Bad gateway", "<html><body/></html>", "<Error></Error>"] {
            let problem = StoreProblem(answer(status, body))
            #expect(problem.code == code)
            #expect(problem.isTemporary == isTemporary)
        }
    }

    // MARK: - Lists of objects

    @Test func pagesOfObjectsAreRead() throws {
        let page = try ObjectPage(
            root(
                "<ListBucketResult \(Self.space)><Name>b</Name><EncodingType>url</EncodingType>"
                    + "<IsTruncated>true</IsTruncated><NextContinuationToken>t+/=</NextContinuationToken>"
                    + "<Contents><Key>a+b%2B%C3%A4/%01</Key><LastModified>2013-05-24T00:00:00.000Z</LastModified>"
                    + "<ETag>&quot;e&quot;</ETag><Size>5368709121</Size><StorageClass>GLACIER</StorageClass></Contents>"
                    + "<Contents><Key>z</Key><Size>0</Size></Contents>"
                    + "<CommonPrefixes><Prefix>c%2F</Prefix></CommonPrefixes></ListBucketResult>"
            )
        )
        #expect(page.objects.map(\.key) == ["a b+ä/\u{1}", "z"])
        #expect(page.objects.map(\.byteCount) == [5_368_709_121, 0])
        #expect(page.objects.map(\.etag) == ["\"e\"", ""])
        #expect(page.objects.map(\.modified?.seconds) == [1_369_353_600, nil])
        #expect(page.objects.map(\.storageClass) == ["GLACIER", nil])
        #expect(page.prefixes == ["c/"])
        #expect(page.next == "t+/=")
    }

    @Test func namesWithoutAnEncodingStayAsTheyAre() throws {
        let text = "<ListBucketResult><Contents><Key>a+b%2B</Key><Size>1</Size></Contents></ListBucketResult>"
        let page = try ObjectPage(root(text))
        #expect(page.objects.map(\.key) == ["a+b%2B"])
        #expect(page.next == nil)
    }

    @Test(arguments: [
        "<Other/>", "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><EncodingType>x</EncodingType></ListBucketResult>",
        "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%</Key><Size>1</Size></Contents>"
            + "</ListBucketResult>",
        "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>%FF</Key><Size>1</Size></Contents>"
            + "</ListBucketResult>",
    ])
    func brokenListsAreRefused(text: String) { #expect(throws: AnswerError.self) { try ObjectPage(root(text)) } }

    // MARK: - Uploads

    @Test func beginningOfAnUploadIsRead() throws {
        let text =
            "<InitiateMultipartUploadResult \(Self.space)><UploadId>u.1</UploadId></InitiateMultipartUploadResult>"
        #expect(try UploadAnswers.begun(root(text)) == "u.1")
        #expect(throws: AnswerError.self) { try UploadAnswers.begun(root("<InitiateMultipartUploadResult/>")) }
    }

    @Test func errorInsideAnAnswerOfSuccessIsAProblem() throws {
        let problem = try UploadAnswers.completed(
            root("<Error><Code>InternalError</Code><Message>We failed</Message></Error>"),
            status: 200
        )
        #expect(problem == .failure(StoreProblem(status: 200, code: "InternalError", message: "We failed")))
        let text = "<CompleteMultipartUploadResult><ETag>\"a-2\"</ETag></CompleteMultipartUploadResult>"
        #expect(try UploadAnswers.completed(root(text), status: 200) == .success("\"a-2\""))
        // A condition of a later request needs the quotation marks.
        let bare = "<CompleteMultipartUploadResult><ETag>a-2</ETag></CompleteMultipartUploadResult>"
        #expect(try UploadAnswers.completed(root(bare), status: 200) == .success("\"a-2\""))
        let list =
            "<ListBucketResult><Contents><Key>a</Key><Size>1</Size><ETag>e</ETag></Contents></ListBucketResult>"
        #expect(try ObjectPage(root(list)).objects.map(\.etag) == ["\"e\""])
        for text in ["<Other/>", "<CompleteMultipartUploadResult/>"] {
            #expect(throws: AnswerError.self) { try UploadAnswers.completed(root(text), status: 200) }
        }
    }

    @Test func pagesOfPartsAreRead() throws {
        let text =
            "<ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>2</NextPartNumberMarker>"
            + "<Part><PartNumber>1</PartNumber><ETag>\"a\"</ETag><Size>5</Size></Part>"
            + "<Part><PartNumber>2</PartNumber><ETag>\"b\"</ETag><Size>6</Size></Part></ListPartsResult>"
        let page = try UploadAnswers.parts(root(text))
        #expect(
            page.parts == [
                UploadedPart(number: 1, etag: "\"a\"", byteCount: 5),
                UploadedPart(number: 2, etag: "\"b\"", byteCount: 6),
            ]
        )
        #expect(page.next == 2)
        // A list that does not advance would be read for ever.
        let standing = text.replacing("<NextPartNumberMarker>2", with: "<NextPartNumberMarker>1")
        #expect(throws: AnswerError.self) { try UploadAnswers.parts(root(standing)) }
    }

    @Test func pagesOfUploadsAreRead() throws {
        let page = try UploadAnswers.uploads(
            root(
                "<ListMultipartUploadsResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
                    + "<NextKeyMarker>a+b</NextKeyMarker><NextUploadIdMarker>u</NextUploadIdMarker>"
                    + "<Upload><Key>a%2Bb</Key><UploadId>u</UploadId><Initiated>2013-05-24T00:00:00Z</Initiated>"
                    + "</Upload></ListMultipartUploadsResult>"
            )
        )
        #expect(page.uploads.map(\.key) == ["a+b"])
        #expect(page.uploads.map(\.id) == ["u"])
        #expect(page.uploads.map(\.begun?.seconds) == [1_369_353_600])
        #expect(page.next == UploadAnswers.Marker(key: "a b", id: "u"))
    }

    @Test func completionNamesItsParts() throws {
        let parts = [UploadedPart(number: 1, etag: "\"a&<b\""), UploadedPart(number: 2, etag: "c")]
        let root = try XMLParser.parse(UploadAnswers.completion(of: parts))
        #expect(root.name == "CompleteMultipartUpload")
        #expect(root.all("Part").map { $0.text(of: "PartNumber") } == ["1", "2"])
        #expect(root.all("Part").map { $0.text(of: "ETag") } == ["\"a&<b\"", "c"])
    }
}
