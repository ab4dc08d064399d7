package e2e

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// activeFile is a file with active content.
type activeFile struct {
	name, claim string // the file name, and the type that the uploader claims; "" for none
	body        string
	kind        activeKind // how the service must serve it
	media       string     // the expected type; "" when the service determines it from the bytes
	// the destinations as which a bare file server lets it run, at least; "" when this browser
	// never runs it
	runs  string
	class string
	id    string
}

// activeKind is a way to serve content (docs/decisions.md, Serving files).
type activeKind int

const (
	boxed  activeKind = iota // as an attachment with a sandbox
	raster                   // inline, may load images
	media                    // inline, may load media
	plain                    // inline, may load nothing: PDF and text
)

// The destinations that display documents, and those that run scripts.
const (
	framed    = "top iframe object embed"
	scripted  = "script module import worker moduleworker shared service"
	classical = "script worker shared service" // where a name may be used before its definition
)

// payload is a script that reports itself to the console, to the surrounding page, to the page that
// started it as a worker, and to its server, and that tries to read there who is signed in. It
// contains no character that XML or an attribute would not allow.
func payload(id string) string {
	return strings.ReplaceAll(
		`(function(){var d=self.document,b=self.location.href,o=self.origin,m='canary ID '+o;console.log(m);`+
			`try{b=d.currentScript.src||d.baseURI}catch(e){}`+
			`try{self.postMessage(m)}catch(e){}`+
			`try{(self.opener||self.parent).postMessage(m,'*')}catch(e){}`+
			`self.onconnect=function(e){e.ports[0].postMessage(m)};`+
			`function quiet(){}`+
			`try{fetch(new URL('/__canary/ID/'+encodeURIComponent(o),b)).catch(quiet)}catch(e){}`+
			`try{fetch(new URL('/api/auth/me',b),{credentials:'include'}).then(function(r){return r.text()}).then(function(t){if(t.indexOf('username')+1)console.log('canary-account ID '+o)}).catch(quiet)}catch(e){}`+
			`})()`, "ID", id)
}

// activeFiles returns the files. All of their content is written for this test.
func activeFiles() []activeFile {
	var all []activeFile
	for _, f := range append(append(pages(), drawings()...), append(scripts(), disguised()...)...) {
		f.id = fmt.Sprintf("f%03d", len(all))
		f.body = strings.NewReplacer("RUN", payload(f.id), "ID", f.id).Replace(f.body)
		switch f.class {
		case "utf-16":
			f.body = utf16le(f.body)
		case "utf-7":
			f.body = strings.NewReplacer("<", "+ADw-", ">", "+AD4-").Replace(f.body)
		}
		all = append(all, f)
	}
	return all
}

func utf16le(s string) string {
	b := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(s)) {
		b = append(b, byte(unit), byte(unit>>8))
	}
	return string(b)
}

const script = "<!doctype html><title>page</title><script>RUN</script>"

// pages returns HTML files under HTML names.
func pages() []activeFile {
	html := func(name, body string) activeFile {
		return activeFile{name: name, body: body, kind: boxed, media: "text/html", runs: framed, class: "html"}
	}
	found := func(class, name, body string) activeFile { // the type is determined from the bytes
		return activeFile{name: name, body: body, kind: boxed, runs: framed, class: class}
	}
	xhtml := `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>page</title><script>RUN</script></head></html>`
	return []activeFile{
		html("plain.html", script),
		html("error.html", `<!doctype html><img src="x:" onerror="RUN">`),
		html("load.html", `<!doctype html><body onload="RUN">`),
		html("toggle.html", `<!doctype html><details open ontoggle="RUN"><p>text</p></details>`),
		html("frame.html", `<!doctype html><iframe src="javascript:RUN"></iframe>`),
		html("srcdoc.html", `<!doctype html><iframe srcdoc="<script>RUN</script>"></iframe>`),
		html("base.html", `<!doctype html><base href="https://elsewhere.invalid/"><script>RUN</script>`),
		html("refresh.html", `<!doctype html><meta http-equiv="refresh" content="0;url=/__canary/ID/page">`),
		html("form.html",
			`<!doctype html><form id="f" action="/__canary/ID/page"><input name="a"></form><script>RUN;f.submit()</script>`),
		html("worker.html",
			`<!doctype html><script>navigator.serviceWorker.register('classic.js').catch(function(){});RUN</script>`),
		html("importmap.html",
			`<!doctype html><script type="importmap">{"imports":{"x":"./module.mjs"}}</script><script type="module">import 'x';RUN</script>`),
		html("module.html", `<!doctype html><script type="module">RUN</script>`),
		html("inline-svg.html", `<!doctype html><svg onload="RUN"></svg>`),
		html("inline-math.html", `<!doctype html><math><mtext><img src="x:" onerror="RUN"></mtext></math>`),
		html("video.html", `<!doctype html><video><source src="x:" onerror="RUN"></video>`),
		html("bom.html", "\ufeff"+script),
		html("late.html", strings.Repeat(" \n\t", 2000)+"<script>RUN</script>"),
		html("UPPER.HTM", script),
		html(`it's "quoted" %41 100%.html`, script),
		html("grün 猫.html", script),
		{name: "utf-16.html", body: script, kind: boxed, media: "text/html", runs: framed, class: "utf-16"},
		{name: "utf-7.html", body: script, kind: boxed, media: "text/html", class: "utf-7"},
		{name: "page.xhtml", body: xhtml, kind: boxed, media: "application/xhtml+xml", runs: framed, class: "xhtml"},
		{name: "claimed.dat", claim: "application/xhtml+xml", body: xhtml, kind: boxed, media: "application/xhtml+xml",
			runs: framed, class: "xhtml"},
		found("server page", "page.shtml", script),
		found("server page", "page.phtml", script),
		found("hta", "program.hta", script),
		found("htc", "behaviour.htc",
			`<html><component><attach event="onload" handler="go"></component><script>RUN</script></html>`),
		found("no extension", "README", script),
		found("unknown extension", "page.unknown", script),
		{name: "page.mhtml",
			body: "MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=x\r\n\r\n--x\r\n" +
				"Content-Type: text/html\r\nContent-Location: http://a.test/\r\n\r\n" + script + "\r\n--x--\r\n",
			claim: "multipart/related", kind: plain, media: "text/plain", class: "mhtml"},
		{name: "mail.eml", claim: "message/rfc822",
			body: "Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: text/html\r\n\r\n" + script, kind: boxed,
			media: "message/rfc822", class: "mail"},
	}
}

// drawings returns SVG and other XML files.
func drawings() []activeFile {
	svg := func(name, content string) activeFile {
		return activeFile{
			name: name, kind: boxed, media: "image/svg+xml", runs: framed, class: "svg",
			body: `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9">` + content + `</svg>`,
		}
	}
	xml := func(class, name, mediaType, content string) activeFile {
		return activeFile{name: name, claim: mediaType, kind: boxed, media: mediaType, runs: framed, class: class,
			body: `<?xml version="1.0"?>` + content}
	}
	const inner = `<s:script xmlns:s="http://www.w3.org/1999/xhtml">RUN</s:script>`
	load := svg("load.svg", "")
	load.body = `<svg xmlns="http://www.w3.org/2000/svg" onload="RUN"/>`
	still := svg("use.svg", `<use xlink:href="script.svg#x"/><a xlink:href="javascript:RUN"><text y="9">x</text></a>`)
	still.runs = "" // no one clicks, and referenced content does not run
	styled := xml("xslt", "styled.xml", "application/xml",
		`<?xml-stylesheet type="text/xsl" href="style.xsl"?><a>`+inner+`</a>`)
	styled.runs = "" // whether browsers still apply the transformation may change
	atom := xml("feed", "feed.atom", "",
		`<feed xmlns="http://www.w3.org/2005/Atom"><title>t</title><entry><content type="xhtml">`+inner+
			`</content></entry></feed>`)
	atom.runs = "" // bare servers use another type
	return []activeFile{
		svg("script.svg", `<script id="x">RUN</script>`),
		load,
		svg("foreign.svg",
			`<foreignObject width="9" height="9"><body xmlns="http://www.w3.org/1999/xhtml"><img src="x:" onerror="RUN"/></body></foreignObject>`),
		svg("animate.svg", `<rect width="9" height="9"><animate attributeName="x" dur="1s" onbegin="RUN"/></rect>`),
		svg("href.svg", `<script xlink:href="data:text/javascript,RUN"/>`),
		svg("image.svg", `<image href="x:" onerror="RUN"/>`),
		svg("style.svg", `<style>@import "/__canary/ID/page";</style>`),
		still,
		xml("xml", "page.xml", "application/xml", `<a>`+inner+`</a>`),
		styled,
		{name: "style.xsl", claim: "text/xsl", kind: boxed, media: "text/xsl", runs: framed, class: "xslt",
			body: `<?xml version="1.0"?><x:stylesheet version="1.0" xmlns:x="http://www.w3.org/1999/XSL/Transform"><x:template match="/"><html xmlns="http://www.w3.org/1999/xhtml"><script>RUN</script></html></x:template></x:stylesheet>`},
		xml("mathml", "formula.mml", "text/xml",
			`<math xmlns="http://www.w3.org/1998/Math/MathML"><mtext>`+inner+`</mtext></math>`),
		atom,
		{name: "feed.rss", claim: "text/xml", kind: boxed, media: "text/xml", runs: framed, class: "feed",
			body: `<?xml version="1.0"?><rss version="2.0"><channel><title>t</title>` + inner + `</channel></rss>`},
		{name: "tune.xmlaudio", claim: "audio/x+xml", kind: boxed, media: "audio/x+xml", class: "xml",
			body: `<?xml version="1.0"?><a>` + inner + `</a>`},
		{name: "subset.svg", claim: "image/svg+xml;charset=utf-7", kind: boxed, media: "image/svg+xml", runs: framed,
			class: "svg", body: `<svg xmlns="http://www.w3.org/2000/svg"><script>RUN</script></svg>`},
	}
}

// scripts returns files for pages, workers and former plugins.
func scripts() []activeFile {
	js := func(name, claim, mediaType string) activeFile {
		return activeFile{name: name, claim: claim, kind: boxed, media: mediaType, runs: scripted, class: "javascript",
			body: "RUN"}
	}
	other := func(class, name, claim, mediaType, runs, body string) activeFile {
		return activeFile{name: name, claim: claim, kind: boxed, media: mediaType, runs: runs, class: class, body: body}
	}
	return []activeFile{
		js("classic.js", "", "text/javascript"),
		js("old.js", "application/x-javascript", "application/x-javascript"),
		js("claimed", "text/ecmascript", "text/ecmascript"),
		other("module", "module.mjs", "", "text/javascript", "module import moduleworker", "RUN;export default 1"),
		other("css", "style.css", "", "text/css", "style",
			`a{width:expression(RUN);behavior:url(behaviour.htc);background:url("javascript:RUN")}`),
		other("json", "data.json", "", "application/json", "script", `RUN`),
		other("jsonp", "callback.json", "", "application/json", "script",
			`window.canaryCallback=function(){RUN};canaryCallback({"a":1})`),
		{name: "script.txt", kind: plain, media: "text/plain", runs: "script", class: "text as a script", body: "RUN"},
		{name: "script.md", kind: boxed, media: "text/markdown", runs: "script", class: "text as a script",
			body: "RUN"},
		other("wasm", "module.wasm", "", "application/wasm", "", "\x00asm\x01\x00\x00\x00"),
		other("flash", "film.swf", "application/x-shockwave-flash", "application/x-shockwave-flash", "",
			"FWS\x06<script>RUN</script>"),
		other("subtitles", "film.vtt", "", "text/vtt", "",
			"WEBVTT\n\n00:00.000 --> 00:09.000\n<img src=\"x:\" onerror=\"RUN\">\n"),
		other("manifest", "app.webmanifest", "application/manifest+json", "application/manifest+json", "",
			`{"name":"x","start_url":"javascript:RUN"}`),
	}
}

const gif = "GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"

// disguised returns files that pretend another type by name, claim or first bytes.
func disguised() []activeFile {
	picture := func(name, claim, mediaType, body string) activeFile {
		return activeFile{name: name, claim: claim, kind: raster, media: mediaType, class: "disguised as a picture",
			body: body}
	}
	posing := func(name, claim, mediaType, runs, body string) activeFile {
		return activeFile{name: name, claim: claim, kind: boxed, media: mediaType, runs: runs, class: "polyglot",
			body: body}
	}
	const (
		png  = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
		jpeg = "\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xfe\x01\x00"
		bmp  = "BM\x3c\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00"
		pdf  = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 " +
			"R/OpenAction<</S/JavaScript/JS(app.alert\\('ID'\\))>>>>endobj 2 0 obj<</Type/Pages/Count " +
			"0/Kids[]>>endobj\ntrailer<</Root 1 0 R>>\n"
	)
	return []activeFile{
		picture("page.png", "", "image/png", script),
		picture("page.jpg", "", "image/jpeg", script),
		picture("page.gif", "", "image/gif", script),
		picture("page.ico", "", "image/x-icon", script),
		picture("claimed.html", "image/png", "image/png", script),
		picture("comment.jpg", "", "image/jpeg", jpeg+script),
		picture("comment.bmp", "", "image/bmp", bmp+script),
		picture("script.gif", "", "image/gif", "GIF89a/*\x01\x00*/=1;RUN"),
		{name: "page.mp4", kind: media, media: "video/mp4", class: "disguised as a film", body: script},
		{name: "tags.mp3", kind: media, media: "audio/mpeg", class: "disguised as a tune",
			body: "ID3\x03\x00\x00\x00\x00\x0f\x76TIT2\x00\x00\x01\x00\x00\x00\x00" + script},
		{name: "tags.ogg", kind: media, media: "audio/ogg", class: "disguised as a tune",
			body: "OggS\x00\x02" + script},
		{name: "page.txt", kind: plain, media: "text/plain", class: "disguised as text", body: script},
		{name: "page.html.txt", claim: "text/plain;charset=utf-7", kind: plain, media: "text/plain", class: "utf-7",
			body: script},
		{name: "page.pdf", kind: plain, media: "application/pdf", class: "disguised as a PDF", body: script},
		{name: "open.pdf", kind: plain, media: "application/pdf", class: "pdf", body: pdf},
		{name: "script.pdf", kind: plain, media: "application/pdf", class: "pdf", body: pdf + script},
		posing("pdf.html", "", "text/html", framed, pdf+script),
		posing("jpeg.html", "", "text/html", framed, jpeg+script),
		posing("bmp.html", "", "text/html", framed, bmp+script),
		posing("gif.html", "", "text/html", framed, gif+script),
		posing("gif.js", "", "text/javascript", classical, "GIF89a/*\x01\x00*/=self.canaryGif=1;RUN"),
		posing("claimed.gif", "text/javascript", "text/javascript", classical, "GIF89a/*\x01\x00*/=1;RUN"),
		posing("claimed.png", "text/html", "text/html", "top iframe object", png+script),
		posing("page.svg", "", "image/svg+xml", framed,
			`<html xmlns="http://www.w3.org/1999/xhtml"><script>RUN</script></html>`),
		posing("drawing.html", "image/svg+xml", "image/svg+xml", framed,
			`<svg xmlns="http://www.w3.org/2000/svg" onload="RUN"/>`),
		posing("anything.html", "*/*", "text/html", framed, script),
		posing("unknown.html", "unknown/unknown", "unknown/unknown", framed, script),
		posing("wap.html", "application/vnd.wap.xhtml+xml", "application/vnd.wap.xhtml+xml", "",
			`<html xmlns="http://www.w3.org/1999/xhtml"><script>RUN</script></html>`),
		posing("broken.html", "text/html;x", "text/html", framed, script),
		posing("replaced.html", "multipart/x-mixed-replace; boundary=x", "text/html", "",
			"--x\r\nContent-Type: text/html\r\n\r\n"+script+"\r\n--x--\r\n"),
		posing("encoded.html", "text/html; charset=utf-7", "text/html", framed, script),
	}
}
