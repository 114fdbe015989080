/// The tours that the demo offers.
enum Tour: String, CaseIterable {
    case cluster, page, formats, damage, edits, book

    /// Whether everything came out as expected.
    func run(in place: DemoPlace, on page: Page) throws -> Bool {
        switch self {
        case .cluster: try ClusterTour(place: place, page: page).run()
        case .page: try PageTour(place: place, page: page).run()
        case .formats: try FormatTour(folder: place.folder).run(on: page)
        case .damage: try DamageTour(place: place, page: page).run()
        case .edits: try EditTour(place: place, page: page).run()
        case .book: try BookTour(place: place, page: page).run()
        }
    }
}
