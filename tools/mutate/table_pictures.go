package main

// pictureGuards are the guards of the examination of pictures.
var pictureGuards = []mutation{
	{"picture-rights", "only who may download a picture learns its properties", files + "/pictures.go",
		`strings.HasPrefix(e.MimeType, "image/") && e.Permissions.Has(access.Download)`,
		`strings.HasPrefix(e.MimeType, "image/") || e.Permissions.Has(access.Download)`, files, "^TestPictureOfAFileThatCannotBeDownloaded$/^sqlite$"},
	{"picture-content", "an examination does not count for a content that replaced the examined one",
		"internal/db/pictures.go", `"(e.examined_object IS NULL OR e.examined_object <> e.object_id)"`,
		`"e.examined_object IS NULL"`, files, "^TestExaminedContentWasReplaced$/^sqlite$"},
	{"picture-lost", "a lost picture delays no other one", "internal/pictures/pictures.go",
		`if errors.Is(err, blob.ErrUnavailable) {`,
		`if fault.Is(err, fault.Unavailable) || errors.Is(err, blob.ErrUnavailable) {`,
		"internal/pictures", "^TestLostPicture$/^sqlite$"},
	{"picture-short", "an object that is short for a while does not count as no picture",
		"internal/pictures/pictures.go", `if !fault.Is(err, fault.Unavailable) {`, `if err != nil {`,
		"internal/pictures", "^TestShortPicture$"},
	{"picture-size", "a short object is not examined", files + "/pictures.go", `if o.Size() != p.Size {`,
		`if o.Size() > p.Size {`, "internal/pictures", "^TestShortPicture$"},
	{"picture-tries", "a picture whose child dies is tried again", "internal/pictures/pictures.go",
		`if f.tries == maxFailures {`, `if f.tries > 0 {`, "internal/pictures", "^TestChildThatDies$"},
	{"picture-forgiven", "a failure of a request does not keep a picture from being examined", thumbP + "/thumb.go",
		`known = known && from.priority == foreground`, `known = known && from.ID != ""`, thumbP,
		"^TestExamineAfterAFailure$"},
	{"picture-lease", "of several replicas one examines", "internal/pictures/sql.go",
		`WHERE versions.value <= $3 OR versions.value > $4`, `WHERE versions.value <> $3 OR versions.value > $4`,
		"internal/pictures", "^TestOneReplicaExamines$"},
	{"picture-sweep", "the properties of existing contents stay", files + "/pictures.go", `if !existing[id] {`,
		`if existing[id] || !existing[id] {`, files, "^TestSweepPictures$/^sqlite$"},
	{"picture-output", "the output of the child that describes a picture is checked", pictureP + "/describe.go",
		`d.Width < 1 || d.Width > maxLength`, `d.Width < 1`, pictureP, "^TestDescribeNothing$"},
	{"picture-pixels", "a preview of a thumbnail decodes at most 50 megapixels (C104)", pictureP + "/describe.go",
		`if _, err := checkHeader(in, is); err != nil {`, `if err := error(nil); err != nil {`, pictureP,
		"^TestThumbHash$"},
	{"picture-confined", "the child that describes a picture is confined (C104)", pictureP + "/picture.go",
		`if _, err := confine(""); err != nil {
		return fmt.Errorf("%w: %w", ErrUnconfined, err)
	}
	is, err := kindOf(in)`, `is, err := kindOf(in)`, pictureP, "^TestDescribeIsConfined$"},
	{"picture-starved", "a thumbnail that a busy machine makes too slowly in the background does not fail for requests",
		thumbP + "/child.go", `case p == background && patient.Err() != nil:`, `case false:`, thumbP,
		"^TestExamineStarves$/^320$"},
}
