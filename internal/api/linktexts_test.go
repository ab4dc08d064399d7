package api_test

import (
	"html"
	"strings"
	"testing"

	"larder/internal/apptest"
)

// Abuse case C72: the texts of hostile names in each format. `$` stands for the address. Names
// contain no slash, backslash or line break.
func TestLinkTextsOfHostileNames(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice := l.User(t, "alice")
	for _, c := range []struct{ name, address, html, markdown, bbcode string }{
		{"cat.png", "cat.png", `<img src="$" alt="cat.png">`, "![cat.png]($)", "[img]$[/img]"},
		{`"><script>x.png`, "%22%3E%3Cscript%3Ex.png", `<img src="$" alt="&#34;&gt;&lt;script&gt;x.png">`,
			`!["\>\<script\>x.png]($)`, "[img]$[/img]"},
		{`"><script>x`, "%22%3E%3Cscript%3Ex", `<a href="$">&#34;&gt;&lt;script&gt;x</a>`, `["\>\<script\>x]($)`,
			`[url=$]"><script>x[/url]`},
		{`' onerror='x.png`, "%27%20onerror=%27x.png", `<img src="$" alt="&#39; onerror=&#39;x.png">`,
			`![' onerror='x.png]($)`, "[img]$[/img]"},
		{"](javascript:x).png", "%5D%28javascript:x%29.png", `<img src="$" alt="](javascript:x).png">`,
			`![\]\(javascript:x\).png]($)`, "[img]$[/img]"},
		{"](javascript:x)", "%5D%28javascript:x%29", `<a href="$">](javascript:x)</a>`, `[\]\(javascript:x\)]($)`,
			"[url=$]］(javascript:x)[/url]"},
		{"[img]x[url=y].png", "%5Bimg%5Dx%5Burl=y%5D.png", `<img src="$" alt="[img]x[url=y].png">`,
			`![\[img\]x\[url=y\].png]($)`, "[img]$[/img]"},
		{"[img]x[url=y]", "%5Bimg%5Dx%5Burl=y%5D", `<a href="$">[img]x[url=y]</a>`, `[\[img\]x\[url=y\]]($)`,
			"[url=$]［img］x［url=y］[/url]"},
		{"`code`![x]", "%60code%60%21%5Bx%5D", "<a href=\"$\">`code`![x]</a>", "[\\`code\\`\\!\\[x\\]]($)",
			"[url=$]`code`!［x］[/url]"},
		{"&amp;&lt;.png", "&amp%3B&lt%3B.png", `<img src="$" alt="&amp;amp;&amp;lt;.png">`, `![\&amp;\&lt;.png]($)`,
			"[img]$[/img]"},
		{"*a*_b_~c~#d+e|f{g}.txt", "%2Aa%2A_b_~c~%23d+e%7Cf%7Bg%7D.txt", `<a href="$">*a*_b_~c~#d+e|f{g}.txt</a>`,
			`[\*a\*\_b\_\~c\~\#d\+e\|f\{g\}.txt]($)`, "[url=$]*a*_b_~c~#d+e|f{g}.txt[/url]"},
		{"猫 🐈.png", "%E7%8C%AB%20%F0%9F%90%88.png", `<img src="$" alt="猫 🐈.png">`, "![猫 🐈.png]($)", "[img]$[/img]"},
		{"קובץ.txt", "%D7%A7%D7%95%D7%91%D7%A5.txt", `<a href="$">קובץ.txt</a>`, "[קובץ.txt]($)",
			"[url=$]קובץ.txt[/url]"},
		{"javascript:alert(1)", "javascript:alert%281%29", `<a href="$">javascript:alert(1)</a>`,
			`[javascript:alert\(1\)]($)`, "[url=$]javascript:alert(1)[/url]"},
		{"%2e%2e?a=b#c", "%252e%252e%3Fa=b%23c", `<a href="$">%2e%2e?a=b#c</a>`, `[%2e%2e?a=b\#c]($)`,
			"[url=$]%2e%2e?a=b#c[/url]"},
	} {
		id := alice.Upload("/home/alice", c.name, []byte("x"))
		r := alice.Get("/api/files/" + id + "/copy-links").OK(200)
		address := apptest.BaseURL + "/home/alice/" + c.address
		put := func(text string) string { return strings.ReplaceAll(text, "$", address) }
		wantJSON(t, c.name+": direct", r.Value("formats.direct"), address)
		wantJSON(t, c.name+": html", r.Value("formats.html"),
			strings.ReplaceAll(c.html, "$", strings.ReplaceAll(address, "&", "&amp;")))
		wantJSON(t, c.name+": markdown", r.Value("formats.markdown"), put(c.markdown))
		wantJSON(t, c.name+": bbcode", r.Value("formats.bbcode"), put(c.bbcode))
		wantBody(t, alice.Get(address).OK(200), "x") // and it leads to the file
	}
}

// Every printable character of ASCII, alone, twice and all together, parses in every format to the
// right name and address.
func TestLinkTextsParseToName(t *testing.T) {
	t.Parallel()
	l := apptest.Start(t, "sqlite")
	alice := l.User(t, "alice")
	var names []string
	all := ""
	for c := '!'; c <= '~'; c++ {
		if c == '/' || c == '\\' {
			continue
		}
		all += string(c)
		if !strings.ContainsRune("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", c) {
			names = append(names, string(c)+"x"+string(c)+string(c))
		}
	}
	names = append(names, all)
	var ids []string
	for _, name := range names {
		ids = append(ids, alice.Upload("/home/alice", name, []byte("x"), M{"mimeType": "text/plain"}),
			alice.Upload("/home/alice", name+".png", []byte("x"), M{"mimeType": "image/png"}))
	}
	for i, id := range ids {
		name, image := names[i/2], i%2 == 1
		if image {
			name += ".png"
		}
		r := alice.Get("/api/files/" + id + "/copy-links").OK(200)
		address := r.Text("formats.direct")
		read := func(format, label, target string) {
			if label != name || target != address {
				t.Errorf("%s of %q reads as %q to %q: %s", format, name, label, target, r.Text("formats."+format))
			}
		}
		label, target := readHTML(r.Text("formats.html"), image)
		read("html", label, target)
		label, target = readMarkdown(r.Text("formats.markdown"), image)
		read("markdown", label, target)
		label, target = readBBCode(r.Text("formats.bbcode"), image)
		if image {
			label = name // the format shows no name
		}
		read("bbcode", strings.NewReplacer("［", "[", "］", "]").Replace(label), target)
	}
}

// cutBetween returns the text between begin and end. It refuses unescaped characters of barred in
// it.
func cutBetween(s, begin, end, barred string) string {
	s, begins := strings.CutPrefix(s, begin)
	s, ends := strings.CutSuffix(s, end)
	if !begins || !ends || strings.ContainsAny(s, barred) {
		return "not readable"
	}
	return s
}

// readHTML parses one <img> or <a> like a browser: attributes end at the next quote, text at the
// next tag, and entities stand for characters.
func readHTML(s string, image bool) (label, target string) {
	if image {
		target, label, _ = strings.Cut(cutBetween(s, `<img src="`, `">`, "<>"), `" alt="`)
	} else {
		target, label, _ = strings.Cut(cutBetween(s, `<a href="`, `</a>`, "<"), `">`)
	}
	if strings.Contains(target, `"`) || image && strings.Contains(label, `"`) {
		return "an attribute ends early", ""
	}
	return html.UnescapeString(label), html.UnescapeString(target)
}

// readMarkdown parses one link or image by CommonMark 0.31: a backslash makes the next punctuation
// literal (section 2.4). It refuses characters that would begin other markup in the link text. The
// destination is bare, without space, parentheses, entities and angle brackets.
func readMarkdown(s string, image bool) (label, target string) {
	if image {
		var bang bool
		if s, bang = strings.CutPrefix(s, "!"); !bang {
			return "no image", ""
		}
	}
	if s == "" || s[0] != '[' {
		return "no link", ""
	}
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && strings.IndexByte("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", s[i+1]) >= 0:
			i++
			label += s[i : i+1]
		case c == ']':
			return label, html.UnescapeString(cutBetween(s[i+1:], "(", ")", " ()<>\\"))
		case strings.IndexByte("[`*_<&!~|", c) >= 0:
			return "markup in the text", ""
		default:
			label += s[i : i+1]
		}
	}
	return "no end", ""
}

// readBBCode parses one tag that contains no other bracket.
func readBBCode(s string, image bool) (label, target string) {
	if image {
		return "", cutBetween(s, "[img]", "[/img]", "[]")
	}
	target, label, _ = strings.Cut(cutBetween(s, "[url=", "[/url]", "["), "]")
	if strings.Contains(label, "]") {
		return "a bracket in the text", ""
	}
	return label, target
}
