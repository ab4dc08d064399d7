package api

// Line is a line of the route table, for tests that must cover every one.
type Line struct {
	Method, Pattern string
	Addition        bool
	Bytes           bool // it may answer the content of files
}

// Lines returns the route table.
func Lines() []Line {
	var lines []Line
	for _, r := range (&API{}).table() {
		lines = append(lines, Line{r.method, r.pattern, r.addition, r.find != nil || r.stream != "" && r.stream != "application/json" && r.stream != "text/html"})
	}
	return lines
}

// Disposition is how a file is named to a client.
func Disposition(inline bool, name string) string { return disposition(inline, name) }

// Turnstile returns how zips enter a new one.
func Turnstile() func(who string) (leave func(), err error) { return new(turnstile).enter }
