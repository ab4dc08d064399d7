package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// The events are what go 1.26 wrote for real packages, without their times.
const (
	begin  = `{"Suite":"unit"}` + "\n"
	good   = `{"Suite":"unit","Ended":true,"Seconds":7,"Code":0}` + "\n"
	broken = `{"Suite":"unit","Ended":true,"Seconds":7,"Code":1}` + "\n"

	passing = `{"Action":"start","Package":"larder/a"}
{"Action":"run","Package":"larder/a","Test":"TestA"}
{"Action":"output","Package":"larder/a","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"run","Package":"larder/a","Test":"TestA/one"}
{"Action":"output","Package":"larder/a","Test":"TestA/one","Output":"    chatter\n"}
{"Action":"pass","Package":"larder/a","Test":"TestA/one"}
{"Action":"pass","Package":"larder/a","Test":"TestA"}
{"Action":"output","Package":"larder/a","Output":"PASS\n"}
{"Action":"output","Package":"larder/a","Output":"ok  \tlarder/a\t0.01s\n"}
{"Action":"pass","Package":"larder/a"}
`
	failing = `{"Action":"run","Package":"larder/b","Test":"TestGood"}
{"Action":"output","Package":"larder/b","Test":"TestGood","Output":"    nobody reads this\n"}
{"Action":"pass","Package":"larder/b","Test":"TestGood"}
{"Action":"run","Package":"larder/b","Test":"TestBad"}
{"Action":"output","Package":"larder/b","Test":"TestBad","Output":"    b_test.go:9: got 1, want 2\n"}
{"Action":"fail","Package":"larder/b","Test":"TestBad"}
{"Action":"output","Package":"larder/b","Output":"FAIL\tlarder/b\t0.02s\n"}
{"Action":"fail","Package":"larder/b"}
`
	panicking = `{"Action":"run","Package":"larder/c","Test":"TestPanic"}
{"Action":"output","Package":"larder/c","Test":"TestPanic","Output":"panic: out of luck\n"}
{"Action":"output","Package":"larder/c","Output":"FAIL\tlarder/c\t0.02s\n"}
{"Action":"fail","Package":"larder/c"}
`
	unbuilt = `{"ImportPath":"larder/d","Action":"build-output","Output":"d.go:3:1: syntax error\n"}
{"ImportPath":"larder/d","Action":"build-fail"}
{"Action":"start","Package":"larder/d"}
{"Action":"output","Package":"larder/d","Output":"FAIL\tlarder/d [build failed]\n"}
{"Action":"fail","Package":"larder/d","FailedBuild":"larder/d"}
`
	skipping = `{"Action":"run","Package":"larder/e","Test":"TestSkip"}
{"Action":"output","Package":"larder/e","Test":"TestSkip","Output":"    e_test.go:5: not today\n"}
{"Action":"skip","Package":"larder/e","Test":"TestSkip"}
{"Action":"output","Package":"larder/e","Output":"ok  \tlarder/e\t0.01s\n"}
{"Action":"pass","Package":"larder/e"}
`
	empty = `{"Action":"output","Package":"larder/f","Output":"?   \tlarder/f\t[no test files]\n"}
{"Action":"skip","Package":"larder/f"}
`
)

func TestSummary(t *testing.T) {
	for _, test := range []struct {
		name, stream string
		ci, ok       bool
		last         string   // the closing line
		says, hides  []string // parts of the output
	}{
		{name: "passing tests and subtests are counted and keep quiet", stream: begin + passing + empty + good,
			ci: true, ok: true,
			last: "2 passed, 0 failed", says: []string{"ok  \tlarder/a\t0.01s\n", "?   \tlarder/f",
				"unit                  7 s"}, hides: []string{"chatter", "=== RUN"}},
		{name: "a failing test is shown in full, its neighbours are not", stream: begin + passing + failing + broken,
			last: "3 passed, 1 failed", says: []string{"got 1, want 2", "FAIL\tlarder/b",
				"\nfailed: larder/b TestBad\n"},
			hides: []string{"nobody reads this"}},
		{name: "a panic fails the test that was under way", stream: begin + panicking + broken,
			last: "0 passed, 1 failed", says: []string{"out of luck",
				"(did not end)\n"}},
		{name: "a package that does not build counts as one failure", stream: begin + passing + unbuilt + broken,
			last: "2 passed, 1 failed", says: []string{"syntax error", "[build failed]"}},
		{name: "a skip is told and tolerated at home", stream: begin + passing + skipping + good, ok: true,
			last: "2 passed, 0 failed", says: []string{"skipped: larder/e TestSkip"}},
		{name: "a skip fails in CI", stream: begin + passing + skipping + good, ci: true,
			last: "2 passed, 0 failed", says: []string{"no test may be skipped"}},
		{name: "an exit code counts although all events were good", stream: begin + passing + broken,
			last: "2 passed, 1 failed", says: []string{"exit code 1"}},
		{name: "a command killed inside a package fails it",
			stream: begin + strings.Join(strings.SplitAfter(failing, "\n")[:5], "") + broken,
			last:   "1 passed, 1 failed", says: []string{"got 1, want 2", "FAIL\tlarder/b\n"}},
		{name: "a stream that ends early fails", stream: begin + passing, last: "2 passed, 0 failed",
			says: []string{"unit did not end"}},
		{name: "no test at all fails", stream: begin + empty + good, last: "0 passed, 0 failed"},
		{name: "an empty stream fails", stream: "", last: "0 passed, 0 failed"},
		{name: "a command without events is one test", stream: begin + good, ok: true, last: "1 passed, 0 failed"},
		{name: "a failing command without events is one failure and is heard",
			stream: begin + "bench/x.go:1: wrong\n" + broken,
			last:   "0 passed, 1 failed", says: []string{"bench/x.go:1: wrong\n"}},
		{name: "suites add up", stream: begin + passing + good + begin + passing + good, ok: true,
			last: "4 passed, 0 failed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			summary := newSummary(&out, test.ci)
			if err := summary.read(strings.NewReader(test.stream)); err != nil {
				t.Fatal(err)
			}
			if ok := summary.close(); ok != test.ok {
				t.Errorf("passed as a whole: %v, want %v", ok, test.ok)
			}
			if !strings.HasSuffix(out.String(), "\n"+test.last+"\n") {
				t.Errorf("the last line is not %q", test.last)
			}
			for _, part := range test.says {
				if !strings.Contains(out.String(), part) {
					t.Errorf("does not say %q", part)
				}
			}
			for _, part := range test.hides {
				if strings.Contains(out.String(), part) {
					t.Errorf("says %q", part)
				}
			}
			if t.Failed() {
				t.Logf("output:\n%s", out.String())
			}
		})
	}
}

func TestSlowestTests(t *testing.T) {
	stream := begin
	for i := range 12 {
		stream += fmt.Sprintf(`{"Action":"pass","Package":"larder/a","Test":"TestA/%d","Elapsed":%d.25}`+"\n", i, i)
	}
	stream += `{"Action":"pass","Package":"larder/a","Test":"TestA","Elapsed":99}` + "\n" +
		`{"Action":"pass","Package":"larder/a"}` + "\n" + good
	var out bytes.Buffer
	summary := newSummary(&out, true)
	if err := summary.read(strings.NewReader(stream)); err != nil || !summary.close() {
		t.Fatalf("%v\n%s", err, &out)
	}
	var want strings.Builder
	for i := 11; i > 1; i-- {
		fmt.Fprintf(&want, "slow: %6s s   larder/a TestA/%d\n", fmt.Sprintf("%d.2", i), i)
	}
	if got := out.String(); !strings.Contains(got, "\n"+want.String()+"13 passed") {
		t.Errorf("got\n%s\nwant\n%s", got, &want)
	}
}
