package api

import (
	"html"
	"strings"

	"larder/internal/files"
)

// linkTextsReply holds an address in the formats that documents use.
type linkTextsReply struct {
	URL      string `json:"url" required:"true"`
	HTML     string `json:"html" required:"true"`
	Markdown string `json:"markdown" required:"true"`
	BBCode   string `json:"bbcode" required:"true"`
}

// linkTexts writes an address as image markup for images and as a link for all other files, in each
// format. It escapes names for each format, so that none can break out of the markup (abuse case
// C72). The address is percent-encoded already.
func linkTexts(url string, file files.Entry) linkTextsReply {
	texts := linkTextsReply{URL: url}
	label := markdownText(file.Name)
	if strings.HasPrefix(file.MimeType, "image/") {
		texts.HTML = `<img src="` + html.EscapeString(url) + `" alt="` + html.EscapeString(file.Name) + `">`
		texts.Markdown = "![" + label + "](" + markdownURL(url) + ")"
		texts.BBCode = "[img]" + bbcodeURL(url) + "[/img]"
		return texts
	}
	texts.HTML = `<a href="` + html.EscapeString(url) + `">` + html.EscapeString(file.Name) + `</a>`
	texts.Markdown = "[" + label + "](" + markdownURL(url) + ")"
	texts.BBCode = "[url=" + bbcodeURL(url) + "]" + bbcodeText(file.Name) + "[/url]"
	return texts
}

// markdownText escapes the characters that Markdown, or HTML in Markdown, reads as markup.
func markdownText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\\`*_{}[]()<>#+!|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// markdownURL encodes the characters that would end an address in Markdown.
func markdownURL(url string) string {
	return strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E").Replace(url)
}

// bbcodeURL encodes the brackets that would end an address in BBCode.
func bbcodeURL(url string) string {
	return strings.NewReplacer("[", "%5B", "]", "%5D").Replace(url)
}

// bbcodeText replaces brackets, which BBCode can't escape, by similar-looking characters.
func bbcodeText(s string) string {
	return strings.NewReplacer("[", "［", "]", "］").Replace(s)
}
