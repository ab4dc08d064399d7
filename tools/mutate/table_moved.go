package main

const (
	movedFile  = "internal/app/migrate_database.go"
	movedStory = "^TestMigrateDatabase$"
)

// movedGuards are the guards of copies to the other engine: the copy is complete, and no server
// uses the original any more.
var movedGuards = []mutation{
	{"moved-mark", "the original is marked before it is copied", movedFile,
		`err = a.DB.SetMoved(ctx, a.deps.Now().UnixMilli())`, `err = nil`, "e2e", movedStory},
	{"moved-serve", "no server uses a database that was moved", "internal/app/app.go",
		`a.checkNotMoved(ctx); err != nil { // after join`, `a.checkNotMoved(ctx); err == ErrMoved { // after join`,
		"e2e", movedStory},
	{"moved-command", "no command uses a database that was moved", "internal/app/app.go",
		"\tif err := a.checkNotMoved(ctx); err != nil {\n\t\treturn nil,",
		"\tif err := a.checkNotMoved(ctx); err == ErrMoved {\n\t\treturn nil,", "e2e", movedStory},
	{"moved-running", "the database of a running server is not copied", movedFile,
		`if err == nil && len(running) > 0 {`, `if err == nil && len(running) > 9 {`, "e2e", movedStory},
	{"moved-file", "an existing SQLite database is not replaced", movedFile,
		"if mark == 0 {\n\t\treturn fmt.Errorf(", "if mark == 1 {\n\t\treturn fmt.Errorf(", "e2e", movedStory},
	{"moved-numbers", "the numbers of new rows follow those of copied rows", dbP + "/tables.go",
		`return continueNumbers(tx, table)`, `return nil`, "e2e", movedStory},
	{"moved-foreign", "only an own incomplete copy is dropped", dbP + "/moved.go",
		`mark == 0 || found != mark`, `found == 0`, dbP, "^TestMovedMark$"},
	{"moved-compare", "every row of a copy is compared", dbP + "/compare.go",
		`if here != there {`, `if here.Rows != there.Rows {`, dbP, "^TestCompare$"},
	{"moved-columns", "the comparison tells columns apart", dbP + "/compare.go",
		"case string:\n\t\treturn append(strconv.AppendInt(append(text, 's'), int64(len(v)), 10), \":\"+v...), nil",
		"case string:\n\t\treturn append(text, v...), nil", dbP, "^TestSumsOfTables$"},
}
