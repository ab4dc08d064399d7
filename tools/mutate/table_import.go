package main

const (
	importP     = "internal/dirimport"
	importStory = "^TestImportDir$"
)

// importGuards are the guards of imports: nothing but whole files of the directory becomes a file,
// and no file of the account is lost.
var importGuards = []mutation{
	{"import-changed", "a file that changes while it is read is not imported", importP + "/file.go",
		`info.Size() != s.info.Size() || !info.ModTime().Equal(s.info.ModTime())`, `info.Size() < 0`, importP,
		"^TestChangingFile$/^sqlite$"},
	{"import-link", "an import follows no symbolic link", importP + "/walk.go",
		`|| !os.SameFile(info, listed)`, `|| listed == nil`, importP, "^TestReplacedByLink$/^sqlite$"},
	{"import-expected", "an import replaces only the content that it compared", importP + "/file.go",
		`if etag != there.ETag() {`, `if etag == "" && there.Exists() {`, importP, "^TestRightsAndLocks$/^sqlite$"},
	{"import-usable", "an import ends when the database was moved", importP + "/file.go",
		"err := r.CheckUsable(ctx); err != nil {", "err := r.CheckUsable(ctx); err == context.Canceled {",
		importP, "^TestImportStops$/^sqlite$"},
	{"import-differs", "a file of the account that differs is not replaced", importP + "/file.go",
		`case there.Exists() && !r.Replace:`, `case there.Exists() && !r.Replace && r.plan != nil:`, "e2e", importStory},
	{"import-names", "of two names that are the same in NFC one is imported", importP + "/walk.go",
		`if seen[at.Base()] {`, `if seen[""] {`, "e2e", "^TestImportDirLeavesOut$"},
	{"import-own", "the data of Larder is not imported", importP + "/dirimport.go",
		"if in {\n\t\t\t\treturn fmt", "if in && own == \"\" {\n\t\t\t\treturn fmt", "e2e",
		"^TestImportDirLeavesOut$"},
	{"import-store", "a store of Larder is not imported", importP + "/walk.go",
		`return e.Name() == storeMarker`, `return e.Name() == ""`, "e2e", "^TestImportDirLeavesOut$"},
	{"import-future", "no entry has a time in the future", files + "/put.go",
		`return min(p.dest.Modified.UnixMilli(), now)`, `return p.dest.Modified.UnixMilli()`, "internal/upload",
		"^TestOneShotKeepsTime$/^sqlite$"},
	{"import-operator", "neither rules nor passwords stop the operator", accessP + "/decide.go",
		`if a.Operator && permission.single() {`, `if a.Operator && a.UserID == "" {`, accessP, "^TestDecideOperator$"},
}
